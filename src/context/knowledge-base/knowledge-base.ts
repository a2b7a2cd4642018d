/**
 * A knowledge base in one file: documents go in, passages that answer a question come out. Several processes may use one
 * file at once. It knows no agent and no model.
 *
 * Invariants: what was added is found until it is removed, or an import sees that its file has changed into what cannot be
 * read, or is gone and was found by an import of the folder; an import that ends early leaves what it had done; a question
 * is data and never fails for what stands in it.
 */
import { hash } from "node:crypto";
import { stat } from "node:fs/promises";
import { basename, resolve, sep } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { asStoreError } from "../../log/sqlite/failure.ts";
import { LoomError } from "../../protocol/index.ts";
import type { RetrieveOptions, Retriever } from "../retriever.ts";
import {
  DEFAULT_COLLECTION,
  importFiles,
  type ImportFailure,
  type ImportTarget,
  isWithin,
  type Outcome,
  sweep,
  writeBatch,
} from "./import-documents.ts";
import { type KnowledgeBaseLimits, type KnowledgeBaseOptions, resolveLimits } from "./knowledge-base-options.ts";
import { openBase } from "./knowledge-schema.ts";
import type { StoredDocument, Totals } from "./knowledge-rows.ts";
import { KnowledgeStore } from "./knowledge-store.ts";
import {
  DOCUMENT_ENDINGS,
  type DocumentFormat,
  findFormat,
  indexDocument,
  type ReadDocument,
  readDocument,
  readText,
} from "./read-document.ts";
import { PdfReader } from "./read-pdf.ts";
import { MIN_SCORE, type SearchHit, searchPassages } from "./search-passages.ts";
import { walkFolder } from "./walk-folder.ts";

export interface AddOptions {
  /** When absent, a document stays in the collection it is in, and a new one goes to `default`. */
  readonly collection?: string;
  /** After each file, with how many are done of how many. */
  readonly onProgress?: (done: number, total: number, path: string) => void;
  readonly signal?: AbortSignal;
  /**
   * Whether documents that an earlier import of the folder found, and whose files are gone, are removed; true when absent.
   * What was added by itself stays.
   */
  readonly prune?: boolean;
}

export interface AddReport {
  readonly added: number;
  readonly updated: number;
  readonly unchanged: number;
  /** Documents whose files are gone, or have changed into what cannot be read. */
  readonly removed: number;
  /** Files of the folder that are no documents, and links that lead out of it. */
  readonly skipped: number;
  /** The first 100 of those that could not be read. */
  readonly failed: readonly ImportFailure[];
  readonly failedCount: number;
}

export interface TextDocument {
  /** What it is known by: an address, a path, any name. */
  readonly uri: string;
  /** From the text when absent. */
  readonly title?: string;
  readonly text: string;
  /** `markdown` when absent. */
  readonly format?: Exclude<DocumentFormat, "pdf">;
  readonly collection?: string;
  readonly signal?: AbortSignal;
}

export interface ByteDocument {
  /** What it is known by. Its ending says what it is, unless `format` does. */
  readonly uri: string;
  /** As they are in a file. */
  readonly bytes: Uint8Array;
  readonly format?: DocumentFormat;
  readonly collection?: string;
  readonly signal?: AbortSignal;
}

export interface AddedDocument {
  readonly outcome: Outcome;
  readonly document: DocumentInfo;
}

export type DocumentInfo = Omit<StoredDocument, "key" | "hash" | "root" | "stamp">;

export interface KnowledgeBaseStats extends Totals {
  readonly collections: readonly { readonly name: string; readonly documents: number }[];
}

export interface SearchOptions {
  /** 5 when absent, 50 at most. */
  readonly limit?: number;
  /** Only in this one; in all when absent. */
  readonly collection?: string;
  readonly signal?: AbortSignal;
}

const DEFAULT_HITS = 5;
const MAX_HITS = 50;
const TEXT_FORMATS: ReadonlySet<string> = new Set(["markdown", "text", "html"]);
const MAX_FAILED = 100;
const MAX_LISTED = 1000;
const MAX_NAME = 1000;
/** How much of what was left by others is deleted before a base is open: what takes a blink. */
const STEPS_AT_OPENING = 16;
/** Documents that are deleted in one go. */
const DELETED_AT_ONCE = 16;

/** Opens the base, and makes it if there is none; `:memory:` is gone when it is closed. Throws a code of the store. */
export async function openKnowledgeBase(file: string, options: KnowledgeBaseOptions = {}): Promise<KnowledgeBase> {
  const limits = resolveLimits(options);
  const path = file === ":memory:" ? file : resolve(file);
  const db = await openBase(path, limits);
  try {
    const store = new KnowledgeStore(db, path, limits.busyTimeoutMs);
    // What a process left that was killed; what cannot be done now is done another time.
    await sweep(store, undefined, STEPS_AT_OPENING).catch(() => undefined);
    return new KnowledgeBase(store, path, limits);
  } catch (error) {
    db.close();
    throw asStoreError(error, path);
  }
}

export class KnowledgeBase implements Retriever, AsyncDisposable {
  readonly name: string;
  /** What small talk and chance bring is below it, what answers a question is not. */
  static readonly minScore = MIN_SCORE;
  readonly minScore = MIN_SCORE;
  readonly file: string;
  readonly #store: KnowledgeStore;
  readonly #limits: KnowledgeBaseLimits;
  readonly #target: ImportTarget;

  constructor(store: KnowledgeStore, file: string, limits: KnowledgeBaseLimits) {
    this.#store = store;
    this.#target = { store, limits, pdf: new PdfReader(limits) };
    this.#limits = limits;
    this.file = file;
    this.name = limits.name;
  }

  /**
   * Adds a file, or the documents of a folder and all within it. What has not changed is not read again. Throws
   * `unreadable_document` where there is neither, and what the store throws; a file that fails is told in the report.
   */
  async add(path: string, options: AddOptions = {}): Promise<AddReport> {
    const { onProgress, signal, prune = true } = options;
    const collection = options.collection === undefined ? undefined : checkName(options.collection, "collection");
    const root = resolve(checkText(path, "path"));
    const isFolder = await isDirectory(root);
    const found = isFolder ? await walkFolder(root, this.#limits, signal) : { paths: [root], skipped: 0, missed: [] };
    const counts = { added: 0, updated: 0, unchanged: 0, removed: 0 };
    const failed: ImportFailure[] = found.missed.slice(0, MAX_FAILED);
    let failedCount = found.missed.length;
    let done = 0;
    const importing = importFiles(this.#target, found.paths, { collection, root: isFolder ? root : null, signal });
    for await (const settled of importing) {
      for (const { path: file, outcome, isRemoved } of settled) {
        if (typeof outcome === "string") counts[outcome] += 1;
        else {
          failedCount += 1;
          if (failed.length < MAX_FAILED) failed.push(outcome);
        }
        if (isRemoved === true) counts.removed += 1;
        done += 1;
        onProgress?.(done, found.paths.length, file);
      }
    }
    if (isFolder && prune) counts.removed += await this.#prune(root, new Set(found.paths), signal);
    return { ...counts, skipped: found.skipped, failed, failedCount };
  }

  /** Adds a text that is in no file. Throws `document_too_large` or `too_many_documents`. */
  async addText(document: TextDocument): Promise<Outcome> {
    const { format = "markdown", signal } = document;
    const text = checkText(document.text, "text");
    const { uri, known, collection } = this.#place(document);
    if (!TEXT_FORMATS.has(format)) throw new LoomError("invalid_arguments", "a text is markdown, text or html");
    const bytes = this.#checkSize(Buffer.byteLength(text), "text");
    const read = await readText(text, format, basename(uri) || uri, signal);
    const title = document.title === undefined ? read.title : checkText(document.title, "title");
    const digest = hash("sha256", JSON.stringify([title, format, text]));
    if (known?.hash === digest && known.collection === collection) return "unchanged";
    const { outcome } = await this.#write({ ...read, title }, { uri, collection, bytes, hash: digest }, signal);
    return outcome;
  }

  /**
   * Adds a file that somebody has sent, in place of the document with its uri. Throws `unreadable_document`,
   * `document_too_large`, `too_many_documents`, or `missing_package` for a PDF that nothing here reads; then what was
   * known stays.
   */
  async addBytes(document: ByteDocument): Promise<AddedDocument> {
    const { bytes, signal } = document;
    const { uri, known, collection } = this.#place(document);
    const format = document.format ?? findFormat(uri);
    if (format === undefined)
      throw new LoomError("unreadable_document", `Documents are files that end in ${DOCUMENT_ENDINGS.join(", ")}.`);
    this.#checkSize(bytes.length, "file");
    // The same bytes can be read in another way.
    const digest = `${format} ${hash("sha256", bytes)}`;
    if (known?.hash === digest && known.collection === collection)
      return { outcome: "unchanged", document: toInfo(known) };
    const read = await readDocument(bytes, uri, format, this.#target.pdf, signal);
    return this.#write(read, { uri, collection, bytes: bytes.length, hash: digest }, signal);
  }

  /** In the order of their uris, from the one after `after`; 100 when no limit is given. */
  async list({
    collection,
    after = "",
    limit = 100,
  }: { readonly collection?: string; readonly after?: string; readonly limit?: number } = {}): Promise<
    readonly DocumentInfo[]
  > {
    const within = collection === undefined ? undefined : checkText(collection, "collection");
    return this.#store.list(within, checkText(after, "after"), checkLimit(limit, MAX_LISTED)).map(toInfo);
  }

  async get(uri: string): Promise<DocumentInfo | undefined> {
    const found = this.#store.find(checkText(uri, "uri")) ?? this.#store.find(resolve(uri));
    return found === undefined ? undefined : toInfo(found);
  }

  /** Removes a document and all that is below it, as in a folder; returns how many. */
  async remove(uriOrFolder: string): Promise<number> {
    if (checkText(uriOrFolder, "uri") === "") return 0;
    for (const uri of new Set([uriOrFolder, resolve(uriOrFolder)])) {
      const found = this.#store.find(uri);
      if (found !== undefined) await this.#delete([found.key]);
      const folder = /[/\\]$/.test(uri) ? uri : `${uri}${uri.includes("/") ? "/" : sep}`;
      const removed = (found === undefined ? 0 : 1) + (await this.#removeUnder(folder, async () => true));
      if (removed > 0) return removed;
    }
    return 0;
  }

  /** Removes the document that has exactly this uri; whether there was one. */
  async removeDocument(uri: string): Promise<boolean> {
    const name = checkText(uri, "uri");
    if (this.#store.find(name) === undefined) return false;
    // Looked up again there: another may have taken its place meanwhile.
    const isRemoved = await this.#store.transact(() => {
      const found = this.#store.find(name);
      if (found !== undefined) this.#store.delete(found.key);
      return found !== undefined;
    });
    await sweep(this.#store);
    return isRemoved;
  }

  /** The best passages first. */
  async search(query: string, options: SearchOptions = {}): Promise<readonly SearchHit[]> {
    const { limit = DEFAULT_HITS, collection, signal } = options;
    signal?.throwIfAborted();
    const within = collection === undefined ? undefined : checkText(collection, "collection");
    const most = checkLimit(limit, MAX_HITS);
    return searchPassages(this.#store, checkText(query, "query"), most, within, this.#limits);
  }

  async retrieve(query: string, { limit, signal }: RetrieveOptions): Promise<readonly SearchHit[]> {
    return this.search(query, { limit, signal });
  }

  /** What was noted under this name, for whoever keeps the base; it is never searched. */
  async getNote(name: string): Promise<string | undefined> {
    return this.#store.getNote(checkName(name, "name"));
  }

  async setNote(name: string, text: string): Promise<void> {
    const [key, note] = [checkName(name, "name"), checkText(text, "text")];
    await this.#store.transact(() => this.#store.setNote(key, note));
  }

  async stats(): Promise<KnowledgeBaseStats> {
    return { ...this.#store.count(), collections: this.#store.listCollections() };
  }

  async close(): Promise<void> {
    this.#store.close();
    await this.#target.pdf.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** A document that is known stays in its collection where none is named. */
  #place(document: { readonly uri: string; readonly collection?: string }) {
    const uri = checkName(document.uri, "uri");
    const known = this.#store.find(uri);
    const collection = checkName(document.collection ?? known?.collection ?? DEFAULT_COLLECTION, "collection");
    return { uri, known, collection };
  }

  #checkSize(bytes: number, what: string): number {
    const limit = this.#limits.maxDocumentBytes;
    if (bytes <= limit) return bytes;
    throw new LoomError("document_too_large", `The ${what} has ${bytes} bytes; ${limit} are allowed.`, {
      bytes,
      limit,
    });
  }

  async #write(
    read: ReadDocument,
    about: Pick<StoredDocument, "uri" | "collection" | "bytes" | "hash">,
    signal: AbortSignal | undefined,
  ): Promise<AddedDocument> {
    const chunks = await indexDocument(read, this.#limits, signal);
    const now = Date.now();
    const { title, format } = read;
    const info = { ...about, title, format, modifiedAt: now, indexedAt: now, chunks: chunks.length };
    const written = { ...info, root: null, stamp: "" };
    const [settled] = await writeBatch(this.#target, [{ document: written, chunks }], signal);
    const outcome = settled?.outcome ?? "unchanged";
    if (typeof outcome === "string") return { outcome, document: toInfo({ key: 0, ...written }) };
    throw new LoomError(outcome.code, outcome.message, { limit: this.#limits.maxDocuments });
  }

  #prune(root: string, there: ReadonlySet<string>, signal: AbortSignal | undefined): Promise<number> {
    const isOurs = async (uri: string, from: string | null): Promise<boolean> =>
      from !== null && isWithin(root, from) && !there.has(uri) && (await isGone(uri));
    return this.#removeUnder(root.endsWith(sep) ? root : root + sep, isOurs, signal);
  }

  async #removeUnder(
    folder: string,
    isMeant: (uri: string, root: string | null) => Promise<boolean>,
    signal?: AbortSignal,
  ): Promise<number> {
    let removed = 0;
    let after = "";
    for (;;) {
      signal?.throwIfAborted();
      const some = this.#store.listUnder(folder, after, DELETED_AT_ONCE);
      const meant: number[] = [];
      for (const { key, uri, root } of some) if (await isMeant(uri, root)) meant.push(key);
      if (meant.length > 0) await this.#delete(meant);
      removed += meant.length;
      const last = some.at(-1);
      if (last === undefined) return removed;
      after = last.uri;
      await turn();
    }
  }

  async #delete(keys: readonly number[]): Promise<void> {
    await this.#store.transact(() => {
      for (const key of keys) this.#store.delete(key);
    });
    await sweep(this.#store);
  }
}

/** Not where it only cannot be seen. */
async function isGone(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === "ENOENT" || code === "ENOTDIR";
  }
}

async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const why = code === "ENOENT" ? "There is no file or folder" : `It cannot be read (${code ?? "unknown"})`;
    throw new LoomError("unreadable_document", `${why}: ${path}`, { path }, { cause });
  }
}

/** Callers without types are told what is wrong. */
function checkText(value: unknown, what: string): string {
  if (typeof value === "string") return value;
  throw new LoomError("invalid_arguments", `\`${what}\` must be a text, not ${value === null ? "null" : typeof value}`);
}

function checkLimit(limit: unknown, most: number): number {
  if (typeof limit === "number" && !Number.isNaN(limit)) return Math.min(Math.max(0, Math.floor(limit)), most);
  throw new LoomError("invalid_arguments", `\`limit\` must be a number, not ${String(limit)}`);
}

function checkName(name: string, what: string): string {
  if (typeof name === "string" && name !== "" && name.length <= MAX_NAME && !name.includes("\0") && name.isWellFormed())
    return name;
  throw new LoomError("invalid_name", `a ${what} has 1 to ${MAX_NAME} characters, and no zero among them`);
}

function toInfo({ key: _key, hash: _hash, root: _root, stamp: _stamp, ...info }: StoredDocument): DocumentInfo {
  return info;
}
