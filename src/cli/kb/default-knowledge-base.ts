/**
 * The knowledge base of the command line: where it is, and the handbook that a new one begins with. Whoever has removed
 * the handbook does not get it again.
 */
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { isMainThread } from "node:worker_threads";
import { type KnowledgeBase, openKnowledgeBase, type Passage, type RetrieveOptions } from "../../context/index.ts";
import type { CollectionSearcher } from "../../tools/index.ts";
import { CliError } from "../command.ts";
import { type Environment, findStore, readVariable } from "../find-store.ts";

export interface KnowledgeChoice {
  readonly file: string;
  /** Somebody has named it: nothing is put into it, and it has to be there. */
  readonly isNamed: boolean;
}

export const HANDBOOK = "handbook";

export function chooseKnowledgeBase(given: string | undefined, env: Environment = process.env): KnowledgeChoice {
  if (given !== undefined) return { file: given, isNamed: true };
  const file = readVariable(env, "LOOM_KB") ?? join(dirname(findStore(env)), "knowledge.db");
  return { file, isNamed: false };
}

/** Opens it to read. The default one is made, with the handbook, where there is none. */
export async function openChosen(choice: KnowledgeChoice, signal?: AbortSignal): Promise<KnowledgeBase> {
  assertThere(choice);
  return openToWrite(choice, signal);
}

/** A file that was named and is not there is a mistake, and none to be made up for by an empty one. */
export function assertThere({ file, isNamed }: KnowledgeChoice): void {
  if (isNamed && file !== ":memory:" && !existsSync(file))
    throw new CliError(`there is no knowledge base \`${file}\``, `\`loom kb add --kb ${file} PATH\` makes one`);
}

/** The same, and makes a named one too. Documents are their owner's alone. */
export async function openToWrite({ file, isNamed }: KnowledgeChoice, signal?: AbortSignal): Promise<KnowledgeBase> {
  const isNew = file === ":memory:" || !existsSync(file);
  const base = await openPrivately(file);
  try {
    if (!isNamed) await refreshHandbook(base, isNew, signal);
    return base;
  } catch (error) {
    await base.close();
    throw error;
  }
}

async function openPrivately(file: string): Promise<KnowledgeBase> {
  // A thread has no mask of its own.
  if (!isMainThread) return openKnowledgeBase(file);
  const before = process.umask(0o077);
  try {
    return await openKnowledgeBase(file);
  } finally {
    process.umask(before);
  }
}

/** The handbook lies two folders up from the commands, in a checkout and in the installed package alike. */
const FOLDER = new URL("../../../docs/handbook/", import.meta.url);
const MAX_PAGES = 200;

/** Pages that have not changed cost a look; those that the package has no longer go. */
async function refreshHandbook(base: KnowledgeBase, isNew: boolean, signal: AbortSignal | undefined): Promise<void> {
  const known = await base.list({ collection: HANDBOOK, limit: MAX_PAGES });
  if (!isNew && known.length === 0) return;
  const pages = await listPages();
  for (const { uri, url } of pages) {
    const text = await readFile(url, "utf8");
    await base.addText({ uri, text, collection: HANDBOOK, ...(signal === undefined ? {} : { signal }) });
  }
  const there = new Set(pages.map(({ uri }) => uri));
  for (const { uri } of known) if (!there.has(uri)) await base.remove(uri);
}

async function listPages(): Promise<readonly { readonly uri: string; readonly url: URL }[]> {
  const pages: { uri: string; url: URL }[] = [];
  for (const language of ["en", "zh"]) {
    const names = await readdir(new URL(`${language}/`, FOLDER)).catch(() => []);
    for (const name of names.filter((one) => one.endsWith(".md")).toSorted())
      pages.push({ uri: `${HANDBOOK}/${language}/${name}`, url: new URL(`${language}/${name}`, FOLDER) });
  }
  return pages;
}

/** A base that is opened by its first search: a run that searches nothing pays nothing. */
export class LazyKnowledgeBase implements CollectionSearcher, AsyncDisposable {
  readonly name = "knowledge base";
  readonly #choice: KnowledgeChoice;
  readonly #onFailure: (error: unknown) => void;
  #base: Promise<KnowledgeBase> | undefined;

  /** `onFailure` is told once of a base that cannot be opened; each search fails. */
  constructor(choice: KnowledgeChoice, onFailure: (error: unknown) => void) {
    this.#choice = choice;
    this.#onFailure = onFailure;
  }

  async retrieve(query: string, options: RetrieveOptions): Promise<readonly Passage[]> {
    return (await this.#open()).retrieve(query, options);
  }

  async search(
    query: string,
    options: RetrieveOptions & { readonly collection?: string },
  ): Promise<readonly Passage[]> {
    return (await this.#open()).search(query, options);
  }

  #open(): Promise<KnowledgeBase> {
    if (this.#base === undefined) {
      this.#base = openChosen(this.#choice);
      this.#base.catch(this.#onFailure);
    }
    return this.#base;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const base = await this.#base?.catch(() => undefined);
    await base?.close();
  }
}
