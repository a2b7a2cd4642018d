/**
 * A knowledge base: add documents, search for passages. Several processes can use the same file or database. It does not
 * know agents or models.
 *
 * Invariants: a document is found until it is removed, or until an import sees that its file is gone or can no longer
 * be read; an interrupted import keeps what it has written; a query is data and never fails because of its content.
 */
import { hash } from "node:crypto";
import { stat } from "node:fs/promises";
import { basename, resolve, sep } from "node:path";
import { setImmediate as yieldToLoop } from "node:timers/promises";
import { LoomError } from "../../protocol/index.ts";
import type { RetrieveOptions, Retriever } from "../retriever.ts";
import {
  DEFAULT_COLLECTION,
  importFiles,
  type ImportFailure,
  type ImportTarget,
  type ImportOutcome,
  writeBatch,
} from "./import-documents.ts";
import { DOCUMENT_EXTENSIONS, type DocumentFormat, findFormat } from "./document-format.ts";
import { type KnowledgeBaseLimits, type KnowledgeBaseOptions, resolveLimits } from "./knowledge-base-options.ts";
import type { KnowledgeStore, KnowledgeTotals, StoredDocument } from "./knowledge-store.ts";
import { MIN_SCORE, type SearchHit } from "./rank-passages.ts";
import { indexDocument, type ParsedDocument, readDocument, readText } from "./read-document.ts";
import { type DocumentPassage, readPassages } from "./read-passages.ts";
import { PdfReader } from "./read-pdf.ts";
import { openSqliteKnowledgeStore } from "./sqlite/sqlite-knowledge-store.ts";
import { isWithin, walkFolder } from "./walk-folder.ts";

/** Options of `KnowledgeBase.add`. */
export interface AddOptions {
  /** Collection of the documents. Default: a known document keeps its collection, a new one goes to `default`. */
  readonly collection?: string;
  /** Called after each file. */
  readonly onProgress?: (done: number, total: number, path: string) => void;
  /** Stops the import, which then throws the reason. Documents already written stay. */
  readonly signal?: AbortSignal;
  /**
   * Whether to remove documents that an earlier import of this folder added and whose files are gone. Documents added
   * one by one are kept. Default: true.
   */
  readonly prune?: boolean;
}

/** Result of `KnowledgeBase.add`: how many files had which outcome. */
export interface AddReport {
  readonly added: number;
  readonly updated: number;
  readonly unchanged: number;
  /** Documents removed because their files are gone or can no longer be read. */
  readonly removed: number;
  /** Files that are not documents, and links that lead out of the folder. */
  readonly skipped: number;
  /** The first 100 failures. */
  readonly failed: readonly ImportFailure[];
  /** Number of all failures. */
  readonly failedCount: number;
}

/** A document given as text, for `KnowledgeBase.addText`. */
export interface TextDocument {
  /** Identifies the document: a URL, a path or any name. */
  readonly uri: string;
  /** Title of the document. Default: from the front matter or first heading, otherwise the name in `uri`. */
  readonly title?: string;
  /** Content of the document. */
  readonly text: string;
  /** Format of the text. Default: `markdown`. */
  readonly format?: Exclude<DocumentFormat, "pdf">;
  /** Collection of the document. Default: a known document keeps its collection, a new one goes to `default`. */
  readonly collection?: string;
  /** Cancels the call, which then throws the reason and writes nothing. */
  readonly signal?: AbortSignal;
}

/** A document given as file content, for `KnowledgeBase.addBytes`. */
export interface ByteDocument {
  /** Identifies the document. Its extension determines the format unless `format` is set. */
  readonly uri: string;
  /** Content of the file. */
  readonly bytes: Uint8Array;
  /** Format of the file. Default: from the extension of `uri`. */
  readonly format?: DocumentFormat;
  /** Collection of the document. Default: a known document keeps its collection, a new one goes to `default`. */
  readonly collection?: string;
  /** Cancels the call, which then throws the reason and writes nothing. */
  readonly signal?: AbortSignal;
}

/** Result of `KnowledgeBase.addBytes`. */
export interface AddedDocument {
  readonly outcome: ImportOutcome;
  readonly document: DocumentInfo;
}

/** Metadata of a stored document. Times are in milliseconds since 1970. */
export type DocumentInfo = Omit<StoredDocument, "key" | "hash" | "root" | "stamp">;

/** Options of `KnowledgeBase.read`. */
export interface ReadDocumentOptions {
  /** Position of the first passage, from 0. Default: 0. */
  readonly from?: number;
  /** Starts a few passages before the one with this line, counted from 1, instead of at `from`. */
  readonly line?: number;
  /** Maximum number of passages, at most 200. Default: 50. */
  readonly limit?: number;
}

/** Part of the text of a document, from `KnowledgeBase.read`. */
export interface DocumentText {
  readonly document: DocumentInfo;
  /** Position of the first passage, from 0. */
  readonly from: number;
  /** Empty after the last passage. May be fewer than the limit, if passages are long. */
  readonly passages: readonly DocumentPassage[];
}

/** Number of documents, passages and bytes, and the collections. */
export interface KnowledgeBaseStats extends KnowledgeTotals {
  readonly collections: readonly { readonly name: string; readonly documents: number }[];
}

/** Options of `KnowledgeBase.search`. */
export interface SearchOptions {
  /** Maximum number of passages, at most 50. Default: 5. */
  readonly limit?: number;
  /** Search only in this collection. Default: all collections. */
  readonly collection?: string;
  /** Stops the search, which then throws the reason. */
  readonly signal?: AbortSignal;
}

const DEFAULT_HITS = 5;
const MAX_HITS = 50;
const DEFAULT_READ = 50;
const MAX_READ = 200;
const TEXT_FORMATS: ReadonlySet<string> = new Set(["markdown", "text", "html"]);
/** The largest number of a line that every store accepts. */
const MAX_LINE = 2 ** 31 - 1;
const MAX_FAILED = 100;
const MAX_LISTED = 1000;
const MAX_NAME = 1000;
/** Documents deleted per transaction. */
const DELETE_BATCH = 16;

/**
 * Opens a knowledge base file, or creates it with its folder if there is none. `:memory:` keeps it in memory until
 * closed.
 *
 * Throws `store_corrupt`, `store_newer`, `store_older`, `store_read_only`, `store_busy`, `store_full`, `store_failed`
 * or `invalid_arguments`.
 *
 * ```ts
 * await using base = await openKnowledgeBase("./knowledge.db");
 * await base.add("./docs");
 * const [best] = await base.search("How do I restore a backup?");
 * ```
 */
export async function openKnowledgeBase(file: string, options: KnowledgeBaseOptions = {}): Promise<KnowledgeBase> {
  const limits = resolveLimits(options);
  return new KnowledgeBase(await openSqliteKnowledgeStore(file, limits), limits);
}

/**
 * Documents in a file or a database with full-text search. Create it with `openKnowledgeBase` or
 * `openPostgresKnowledgeBase`; `close` it or use `await using`.
 *
 * It is a `Retriever`: pass it to an agent as `retriever`, or let the model search it with the knowledge tool.
 */
export class KnowledgeBase implements Retriever, AsyncDisposable {
  readonly name: string;
  /** Score above which a passage is probably relevant. Automatic retrieval omits passages below it. */
  readonly minScore: number = MIN_SCORE;
  /** Absolute path of the file, `:memory:`, or host and name of the database. */
  readonly file: string;
  readonly #store: KnowledgeStore;
  readonly #limits: KnowledgeBaseLimits;
  readonly #target: ImportTarget;

  /** @internal */
  constructor(store: KnowledgeStore, limits: KnowledgeBaseLimits) {
    this.#store = store;
    this.#target = { store, limits, pdf: new PdfReader(limits) };
    this.#limits = limits;
    this.file = store.where;
    this.name = limits.name;
  }

  /**
   * Adds a file, or all documents of a folder and its subfolders. Unchanged files are not read again. Files that fail
   * are listed in the report. Throws `unreadable_document` if the path does not exist, and errors of the store.
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

  /** Adds a text that is not in a file. Throws `document_too_large` or `too_many_documents`. */
  async addText(document: TextDocument): Promise<ImportOutcome> {
    const { format = "markdown", signal } = document;
    const text = checkText(document.text, "text");
    const { uri, known, collection } = await this.#resolveTarget(document);
    if (!TEXT_FORMATS.has(format)) throw new LoomError("invalid_arguments", "Format must be markdown, text or html");
    const bytes = this.#checkSize(Buffer.byteLength(text), "text");
    const read = await readText(text, format, basename(uri) || uri, signal);
    const title = document.title === undefined ? read.title : checkText(document.title, "title");
    const digest = hash("sha256", JSON.stringify([title, format, text]));
    if (known?.hash === digest && known.collection === collection) return "unchanged";
    const { outcome } = await this.#write({ ...read, title }, { uri, collection, bytes, hash: digest }, signal);
    return outcome;
  }

  /**
   * Adds an uploaded file and replaces the document with the same uri. Throws `unreadable_document`,
   * `document_too_large`, `too_many_documents`, or `missing_package` if a PDF is given and the package `unpdf` is not
   * installed. If it throws, the old document stays.
   */
  async addBytes(document: ByteDocument): Promise<AddedDocument> {
    const { bytes, signal } = document;
    const { uri, known, collection } = await this.#resolveTarget(document);
    const format = document.format ?? findFormat(uri);
    if (format === undefined)
      throw new LoomError(
        "unreadable_document",
        `The file format is not supported. Supported extensions: ${DOCUMENT_EXTENSIONS.join(", ")}.`,
      );
    this.#checkSize(bytes.length, "file");
    // The same bytes can be read in another format.
    const digest = `${format} ${hash("sha256", bytes)}`;
    if (known?.hash === digest && known.collection === collection)
      return { outcome: "unchanged", document: toInfo(known) };
    const read = await readDocument(bytes, uri, format, this.#target.pdf, signal);
    return this.#write(read, { uri, collection, bytes: bytes.length, hash: digest }, signal);
  }

  /** Lists documents sorted by uri, starting after `after`. `limit` is 100 by default and at most 1,000. */
  async list({
    collection,
    after = "",
    limit = 100,
  }: { readonly collection?: string; readonly after?: string; readonly limit?: number } = {}): Promise<
    readonly DocumentInfo[]
  > {
    const within = collection === undefined ? undefined : checkText(collection, "collection");
    const found = await this.#store.list(within, checkText(after, "after"), checkLimit(limit, MAX_LISTED));
    return found.map(toInfo);
  }

  /** Returns the document with this uri or path; undefined if there is none. */
  async get(uri: string): Promise<DocumentInfo | undefined> {
    const found = (await this.#store.find(checkText(uri, "uri"))) ?? (await this.#store.find(resolve(uri)));
    return found === undefined ? undefined : toInfo(found);
  }

  /**
   * Reads the text of a document in parts: the passages as they were indexed, without what they repeat. Returns undefined
   * if there is no document with exactly this uri.
   */
  async read(uri: string, options: ReadDocumentOptions = {}): Promise<DocumentText | undefined> {
    const found = await readPassages(this.#store, checkText(uri, "uri"), {
      from: checkLimit(options.from ?? 0, Number.MAX_SAFE_INTEGER),
      line: options.line === undefined ? undefined : checkLimit(options.line, MAX_LINE),
      limit: Math.max(1, checkLimit(options.limit ?? DEFAULT_READ, MAX_READ)),
    });
    return found === undefined ? undefined : { ...found, document: toInfo(found.document) };
  }

  /** Removes a document and all documents below it, as in a folder. Returns the number removed. */
  async remove(uriOrFolder: string): Promise<number> {
    if (checkText(uriOrFolder, "uri") === "") return 0;
    for (const uri of new Set([uriOrFolder, resolve(uriOrFolder)])) {
      const found = await this.#store.find(uri);
      if (found !== undefined) await this.#store.remove([found.key]);
      const folder = /[/\\]$/.test(uri) ? uri : `${uri}${uri.includes("/") ? "/" : sep}`;
      const removed = (found === undefined ? 0 : 1) + (await this.#removeUnder(folder, async () => true));
      if (removed > 0) return removed;
    }
    return 0;
  }

  /** Removes the document with exactly this uri. Returns false if there is none. */
  async removeDocument(uri: string): Promise<boolean> {
    return this.#store.removeUri(checkText(uri, "uri"));
  }

  /**
   * Returns the best passages first. At most `maxPerDocument` of them are from one document. Throws `search_timeout` and
   * `too_many_searches`.
   */
  async search(query: string, options: SearchOptions = {}): Promise<readonly SearchHit[]> {
    const { limit = DEFAULT_HITS, collection, signal } = options;
    signal?.throwIfAborted();
    const within = collection === undefined ? undefined : checkText(collection, "collection");
    const maximum = checkLimit(limit, MAX_HITS);
    const text = checkText(query, "query");
    return this.#store.search({ query: text, limit: maximum, collection: within }, signal);
  }

  /** Searches all collections, as required by `Retriever`. */
  async retrieve(query: string, { limit, signal }: RetrieveOptions): Promise<readonly SearchHit[]> {
    return this.search(query, { limit, signal });
  }

  /** Reads a note stored under this name. Notes belong to the application and are never searched. */
  async getNote(name: string): Promise<string | undefined> {
    return this.#store.getNote(checkName(name, "name"));
  }

  /** Stores a note under this name. */
  async setNote(name: string, text: string): Promise<void> {
    await this.#store.setNote(checkName(name, "name"), checkText(text, "text"));
  }

  /** Returns totals and the collections. */
  async stats(): Promise<KnowledgeBaseStats> {
    return { ...(await this.#store.count()), collections: await this.#store.listCollections() };
  }

  /** Further calls throw `store_closed`. */
  async close(): Promise<void> {
    await this.#store.close();
    await this.#target.pdf.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** Resolves the uri, the known document and the collection. */
  async #resolveTarget(document: { readonly uri: string; readonly collection?: string }) {
    const uri = checkName(document.uri, "uri");
    const known = await this.#store.find(uri);
    const collection = checkName(document.collection ?? known?.collection ?? DEFAULT_COLLECTION, "collection");
    return { uri, known, collection };
  }

  #checkSize(bytes: number, what: string): number {
    const limit = this.#limits.maxDocumentBytes;
    if (bytes <= limit) return bytes;
    throw new LoomError("document_too_large", `The ${what} has ${bytes} bytes; the limit is ${limit} bytes`, {
      bytes,
      limit,
    });
  }

  async #write(
    read: ParsedDocument,
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
    shouldRemove: (uri: string, root: string | null) => Promise<boolean>,
    signal?: AbortSignal,
  ): Promise<number> {
    let removed = 0;
    let after = "";
    for (;;) {
      signal?.throwIfAborted();
      const some = await this.#store.listUnder(folder, after, DELETE_BATCH);
      const keys: number[] = [];
      for (const { key, uri, root } of some) if (await shouldRemove(uri, root)) keys.push(key);
      if (keys.length > 0) await this.#store.remove(keys);
      removed += keys.length;
      const last = some.at(-1);
      if (last === undefined) return removed;
      after = last.uri;
      await yieldToLoop();
    }
  }
}

/** Returns false if the path only cannot be accessed. */
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
    const why = code === "ENOENT" ? "No such file or folder" : `The path cannot be read (${code ?? "unknown"})`;
    throw new LoomError("unreadable_document", `${why}: ${path}`, { path }, { cause });
  }
}

/** Checks arguments of callers without type checking. */
function checkText(value: unknown, what: string): string {
  if (typeof value === "string") return value;
  throw new LoomError(
    "invalid_arguments",
    `\`${what}\` must be a string, not ${value === null ? "null" : typeof value}`,
  );
}

function checkLimit(limit: unknown, maximum: number): number {
  if (typeof limit === "number" && !Number.isNaN(limit)) return Math.min(Math.max(0, Math.floor(limit)), maximum);
  throw new LoomError("invalid_arguments", `\`limit\` must be a number, not ${String(limit)}`);
}

function checkName(name: string, what: string): string {
  if (typeof name === "string" && name !== "" && name.length <= MAX_NAME && !name.includes("\0") && name.isWellFormed())
    return name;
  throw new LoomError(
    "invalid_name",
    `\`${what}\` must be a string of 1 to ${MAX_NAME} characters without zero characters`,
  );
}

function toInfo({ key: _key, hash: _hash, root: _root, stamp: _stamp, ...info }: StoredDocument): DocumentInfo {
  return info;
}
