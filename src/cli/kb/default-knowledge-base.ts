/**
 * Finds and opens the knowledge base of the command line, and keeps the handbook in the default one up to date.
 * Handbook pages that the user removed are not added again.
 */
import { mkdir, open, readdir, readFile } from "node:fs/promises";
import { dirname } from "node:path";
import type { KnowledgeBase, KnowledgeBaseOptions } from "../../context/index.ts";
import { isLoomError, LoomError } from "../../protocol/index.ts";
import { CliError, quoteOption } from "../command.ts";
import { type Environment, findKnowledgeBase, isDatabase, storeExists } from "../find-store.ts";
import type { StoreParts } from "../store-parts.ts";

export interface KnowledgeChoice {
  /** A file, or the URL of a database. A URL may contain a password. */
  readonly file: string;
  /** The user named the file: the handbook is not added, and the file must exist unless `mayBeMissing`. */
  readonly isNamed: boolean;
  /** The file is created on first use, because clients can add documents. */
  readonly mayBeMissing?: boolean;
  /** Limits that differ from the defaults of the knowledge base. */
  readonly limits?: Pick<KnowledgeBaseOptions, "maxDocumentBytes" | "searchTimeoutMs">;
}

export const HANDBOOK = "handbook";

/** `store` is the store of the sessions; default: the one of the environment. */
export function chooseKnowledgeBase(
  given: string | undefined,
  env: Environment = process.env,
  store?: string,
): KnowledgeChoice {
  if (given !== undefined) return { file: given, isNamed: true };
  return { file: findKnowledgeBase(env, store), isNamed: false };
}

/** The store of the sessions. A knowledge base in the same database uses its connections. */
export type SharedStore = Pick<StoreParts, "address" | "openKnowledge">;

export interface OpenChoiceOptions {
  readonly signal?: AbortSignal | undefined;
  readonly store?: SharedStore | undefined;
}

/** Opens the knowledge base for reading. The default one is created with the handbook if it is missing. */
export async function openForReading(choice: KnowledgeChoice, options?: OpenChoiceOptions): Promise<KnowledgeBase> {
  assertKnowledgeBaseExists(choice);
  return openForWriting(choice, options);
}

/** Throws a CliError if a named file does not exist, which is probably a mistake. */
export function assertKnowledgeBaseExists(choice: KnowledgeChoice): void {
  const { file, mayBeMissing = false } = choice;
  if (isMissingFile(choice) && !mayBeMissing)
    throw new CliError(
      `no knowledge base \`${file}\``,
      `create it with \`loom kb add ${quoteOption("kb", file)} PATH\``,
    );
}

export function isMissingFile({ file, isNamed }: KnowledgeChoice): boolean {
  return isNamed && file !== ":memory:" && !storeExists(file);
}

/** Opens the knowledge base for writing, and creates it if it is missing. Only its owner can read it. */
export async function openForWriting(
  choice: KnowledgeChoice,
  { signal, store }: OpenChoiceOptions = {},
): Promise<KnowledgeBase> {
  const base = await (isDatabase(choice.file) ? openTables(choice, store) : openPrivateFile(choice));
  try {
    if (!choice.isNamed) await refreshHandbook(base, { signal });
    return base;
  } catch (error) {
    await base.close();
    throw error;
  }
}

async function openTables({ file, limits }: KnowledgeChoice, store: SharedStore | undefined): Promise<KnowledgeBase> {
  const shared = store?.address === file ? await store.openKnowledge(limits) : undefined;
  if (shared !== undefined) return shared;
  const { openPostgresKnowledgeBase } = await import("../../context/index.ts");
  return openPostgresKnowledgeBase(file, limits);
}

async function openPrivateFile({ file, limits }: KnowledgeChoice): Promise<KnowledgeBase> {
  try {
    if (file !== ":memory:") await createPrivateFile(file);
    const { openKnowledgeBase } = await import("../../context/index.ts");
    return await openKnowledgeBase(file, limits);
  } catch (error) {
    throw isLoomError(error) ? describeOpenError(file, error) : error;
  }
}

/** Creates an empty file, which becomes the knowledge base. SQLite gives its other files the same permissions. */
async function createPrivateFile(file: string): Promise<void> {
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    const made = await open(file, "wx", 0o600);
    await made.close();
  } catch {
    // It exists already, or opening it will report why it cannot be created.
  }
}

/** Describes an open error for this file and says what to do; the original error is the cause. */
export function describeOpenError(file: string, error: LoomError): LoomError {
  const [what, solution] = OPEN_ERRORS[error.code] ?? ["cannot be opened", OTHER_FILE_HINT];
  return new LoomError(
    error.code,
    `The knowledge base \`${file}\` ${what}; ${solution}`,
    { path: file },
    { cause: error },
  );
}

const OTHER_FILE_HINT = "choose another file with `--kb FILE` or $LOOM_KB";
const RECREATE_HINT = `move it away and add your documents to a new one with \`loom kb add\`, or ${OTHER_FILE_HINT}`;
const OPEN_ERRORS: { readonly [code: string]: readonly [what: string, solution: string] } = {
  store_corrupt: ["is damaged or not a knowledge base", RECREATE_HINT],
  store_older: ["was created by an older version of Loom", RECREATE_HINT],
  store_newer: ["was created by a newer version of Loom", `update Loom, or ${OTHER_FILE_HINT}`],
  store_read_only: ["cannot be written", `allow this user to write the file and its folder, or ${OTHER_FILE_HINT}`],
  store_busy: ["is locked by another process", "try again later"],
  store_full: ["cannot be written because the disk is full", "free some space"],
};

/** The handbook is at the same relative path in a checkout and in the installed package. */
const HANDBOOK_FOLDER = new URL("../../../docs/handbook/", import.meta.url);
const MAX_PAGES = 200;

/** Key of the note that lists the pages added so far, to recognize those the user removed. */
const PAGES_NOTE = "handbook pages";

export interface RefreshOptions {
  readonly signal?: AbortSignal | undefined;
  /** Folder with the pages; default: the handbook of this package. */
  readonly folder?: URL;
}

/**
 * Updates the handbook in a knowledge base. Unchanged pages are skipped; pages that the package no longer has are
 * removed. Pages that the user removed stay removed, and other documents are not touched. If the handbook cannot be
 * read, nothing changes.
 */
export async function refreshHandbook(
  base: KnowledgeBase,
  { signal, folder = HANDBOOK_FOLDER }: RefreshOptions = {},
): Promise<void> {
  const listed = await base.list({ collection: HANDBOOK, after: `${HANDBOOK}/`, limit: MAX_PAGES });
  const known = new Set(listed.map(({ uri }) => uri));
  const noted = (await base.getNote(PAGES_NOTE)) ?? "";
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
  if (uris.length > 0 && uris.join("\n") !== noted) await base.setNote(PAGES_NOTE, uris.join("\n"));
}

/** Returns undefined if a folder cannot be read, since missing pages would be removed. */
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
