/**
 * The knowledge base of the command line: where it is, and the handbook that it begins with. Whoever has removed a
 * page of the handbook, or all, does not get it again.
 */
import { existsSync } from "node:fs";
import { mkdir, open, readdir, readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { type KnowledgeBase, openKnowledgeBase } from "../../context/index.ts";
import { isLoomError, LoomError } from "../../protocol/index.ts";
import { CliError } from "../command.ts";
import { type Environment, findKnowledgeBase } from "../find-store.ts";

export interface KnowledgeChoice {
  readonly file: string;
  /** Somebody has named it: nothing is put into it, and it has to be there unless it `mayBeMissing`. */
  readonly isNamed: boolean;
  /** It is made when it is first asked: whoever can send documents can fill it. */
  readonly mayBeMissing?: boolean;
  /** Of one document; as a base has it when absent. */
  readonly maxDocumentBytes?: number;
}

export const HANDBOOK = "handbook";

export function chooseKnowledgeBase(given: string | undefined, env: Environment = process.env): KnowledgeChoice {
  if (given !== undefined) return { file: given, isNamed: true };
  return { file: findKnowledgeBase(env), isNamed: false };
}

/** Opens it to read. The default one is made, with the handbook, where there is none. */
export async function openChosen(choice: KnowledgeChoice, signal?: AbortSignal): Promise<KnowledgeBase> {
  assertThere(choice);
  return openToWrite(choice, signal);
}

/** A file that was named and is not there is a mistake, and none to be made up for by an empty one. */
export function assertThere(choice: KnowledgeChoice): void {
  const { file, mayBeMissing = false } = choice;
  if (isMissing(choice) && !mayBeMissing)
    throw new CliError(`there is no knowledge base \`${file}\``, `\`loom kb add --kb ${file} PATH\` makes one`);
}

export function isMissing({ file, isNamed }: KnowledgeChoice): boolean {
  return isNamed && file !== ":memory:" && !existsSync(file);
}

/** The same, and makes a named one too. Documents are their owner's alone. */
export async function openToWrite(choice: KnowledgeChoice, signal?: AbortSignal): Promise<KnowledgeBase> {
  const base = await openPrivately(choice);
  try {
    if (!choice.isNamed) await refreshHandbook(base, { signal });
    return base;
  } catch (error) {
    await base.close();
    throw error;
  }
}

async function openPrivately({ file, maxDocumentBytes }: KnowledgeChoice): Promise<KnowledgeBase> {
  try {
    if (file !== ":memory:") await makePrivately(file);
    return await openKnowledgeBase(file, maxDocumentBytes === undefined ? {} : { maxDocumentBytes });
  } catch (error) {
    throw describeTrouble(file, error);
  }
}

/** An empty file becomes the base, and what SQLite lays beside a base has the same rights. */
async function makePrivately(file: string): Promise<void> {
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    const made = await open(file, "wx", 0o600);
    await made.close();
  } catch {
    // It is there; or it cannot be made, and opening it tells why.
  }
}

/** In words about this file, and a way out; what the engine said of it is its cause. */
function describeTrouble(file: string, error: unknown): unknown {
  if (!isLoomError(error)) return error;
  const [what, wayOut] = TROUBLE[error.code] ?? ["cannot be opened", ANOTHER];
  return new LoomError(
    error.code,
    `the knowledge base \`${file}\` ${what}: ${wayOut}`,
    { path: file },
    { cause: error },
  );
}

const ANOTHER = "name another one with `--kb FILE` or $LOOM_KB";
const ANEW = `move it away, and a new one is made, to which \`loom kb add\` adds your documents again; or ${ANOTHER}`;
const TROUBLE: { readonly [code: string]: readonly [what: string, wayOut: string] } = {
  store_corrupt: ["is damaged, or no knowledge base", ANEW],
  store_older: ["was made by an older version of Loom", ANEW],
  store_newer: ["was made by a newer version of Loom", `use that version, or ${ANOTHER}`],
  store_read_only: ["cannot be written", `let this user write it and its folder, or ${ANOTHER}`],
  store_busy: ["is being written by somebody else for too long", "try again later"],
  store_full: ["cannot be written, because the disk is full", "make room"],
};

/** The handbook lies two folders up from the commands, in a checkout and in the installed package alike. */
const FOLDER = new URL("../../../docs/handbook/", import.meta.url);
const MAX_PAGES = 200;

/** The names of the pages that were put into the base, for those that somebody has removed since. */
const NOTE = "handbook pages";

export interface RefreshOptions {
  readonly signal?: AbortSignal | undefined;
  /** Where the pages lie; those of this package when absent. */
  readonly folder?: URL;
}

/**
 * Pages that have not changed cost a look; those that were noted and that the package has no longer go, and no other
 * document does, whatever its collection. A page that was put in once and is not there was removed, and stays so; where
 * it was never put in, as when the first time was cut short, it is now. Without a handbook to read, all stays as it is.
 */
export async function refreshHandbook(
  base: KnowledgeBase,
  { signal, folder = FOLDER }: RefreshOptions = {},
): Promise<void> {
  const listed = await base.list({ collection: HANDBOOK, after: `${HANDBOOK}/`, limit: MAX_PAGES });
  const known = new Set(listed.map(({ uri }) => uri));
  const noted = (await base.getNote(NOTE)) ?? "";
  if (noted !== "" && known.size === 0) return;
  const before = new Set(noted.split("\n"));
  const pages = await listPages(folder);
  if (pages === undefined) return;
  for (const { uri, url } of pages) {
    signal?.throwIfAborted();
    if (!known.has(uri) && before.has(uri)) continue;
    const text = await readFile(url, "utf8");
    await base.addText({ uri, text, collection: HANDBOOK, ...(signal === undefined ? {} : { signal }) });
  }
  const uris = pages.map(({ uri }) => uri);
  for (const uri of known) if (before.has(uri) && !uris.includes(uri)) await base.remove(uri);
  if (uris.length > 0 && uris.join("\n") !== noted) await base.setNote(NOTE, uris.join("\n"));
}

/** Undefined where a part of it cannot be read: what is not seen is not gone. */
async function listPages(folder: URL): Promise<readonly { readonly uri: string; readonly url: URL }[] | undefined> {
  const pages: { uri: string; url: URL }[] = [];
  for (const language of ["en", "zh"]) {
    const names = await readdir(new URL(`${language}/`, folder)).catch(() => undefined);
    if (names === undefined) return undefined;
    for (const name of names.filter((one) => one.endsWith(".md")).toSorted())
      pages.push({ uri: `${HANDBOOK}/${language}/${name}`, url: new URL(`${language}/${name}`, folder) });
  }
  return pages;
}
