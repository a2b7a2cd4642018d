/**
 * A knowledge base in one file: documents go in, passages that answer a question come out. Several processes may use one
 * file at once. It knows no agent and no model.
 *
 * Invariants: what was added is found until it is removed or its file changes; an import that ends early leaves what it
 * had done; a question is data and never fails for what stands in it.
 */
import { hash } from "node:crypto";
import { stat } from "node:fs/promises";
import { basename, resolve, sep } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { asStoreError } from "../../log/sqlite/failure.ts";
import { LoomError } from "../../protocol/index.ts";
import type { RetrieveOptions, Retriever } from "../retriever.ts";
import { importFiles, type ImportFailure, type Outcome, writeBatch } from "./import-documents.ts";
import { type KnowledgeBaseLimits, type KnowledgeBaseOptions, resolveLimits } from "./knowledge-base-options.ts";
import { openBase } from "./knowledge-schema.ts";
import { KnowledgeStore, type StoredDocument, type Totals } from "./knowledge-store.ts";
import { type DocumentFormat, indexDocument, readText } from "./read-document.ts";
import { type SearchHit, searchPassages } from "./search-passages.ts";
import { walkFolder } from "./walk-folder.ts";

export interface AddOptions {
  /** `default` when absent. */
  readonly collection?: string;
  /** After each file, with how many are done of how many. */
  readonly onProgress?: (done: number, total: number, path: string) => void;
  readonly signal?: AbortSignal;
  /** Whether documents whose files are gone from the folder are removed; true when absent. */
  readonly prune?: boolean;
}

export interface AddReport {
  readonly added: number;
  readonly updated: number;
  readonly unchanged: number;
  readonly removed: number;
  /** Files of the folder that are no documents. */
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

export type DocumentInfo = Omit<StoredDocument, "key" | "hash">;

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

const DEFAULT_COLLECTION = "default";
const DEFAULT_HITS = 5;
const MAX_HITS = 50;
const MAX_FAILED = 100;
const MAX_LISTED = 1000;
const MAX_NAME = 1000;
/** Documents that are deleted in one go. */
const DELETED_AT_ONCE = 64;

/** Opens the base, and makes it if there is none; `:memory:` is gone when it is closed. Throws a code of the store. */
export async function openKnowledgeBase(file: string, options: KnowledgeBaseOptions = {}): Promise<KnowledgeBase> {
  const limits = resolveLimits(options);
  const path = file === ":memory:" ? file : resolve(file);
  const db = await openBase(path, limits);
  try {
    return new KnowledgeBase(new KnowledgeStore(db, path), path, limits);
  } catch (error) {
    db.close();
    throw asStoreError(error, path);
  }
}

export class KnowledgeBase implements Retriever, AsyncDisposable {
  readonly name: string;
  readonly file: string;
  readonly #store: KnowledgeStore;
  readonly #limits: KnowledgeBaseLimits;

  constructor(store: KnowledgeStore, file: string, limits: KnowledgeBaseLimits) {
    this.#store = store;
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
    const collection = checkName(options.collection ?? DEFAULT_COLLECTION, "collection");
    const root = resolve(path);
    const isFolder = await isDirectory(root);
    const found = isFolder ? await walkFolder(root, this.#limits, signal) : { paths: [root], skipped: 0, missed: [] };
    const counts = { added: 0, updated: 0, unchanged: 0 };
    const failed: ImportFailure[] = found.missed.slice(0, MAX_FAILED);
    let failedCount = found.missed.length;
    let done = 0;
    for await (const settled of importFiles(this.#store, found.paths, collection, this.#limits, signal)) {
      for (const { path: file, outcome } of settled) {
        if (typeof outcome === "string") counts[outcome] += 1;
        else {
          failedCount += 1;
          if (failed.length < MAX_FAILED) failed.push(outcome);
        }
        done += 1;
        onProgress?.(done, found.paths.length, file);
      }
    }
    // What was not looked at may still be there.
    const removed =
      isFolder && prune && found.missed.length === 0 ? await this.#prune(root, new Set(found.paths), signal) : 0;
    return { ...counts, removed, skipped: found.skipped, failed, failedCount };
  }

  /** Adds a text that is in no file. Throws `document_too_large` or `too_many_documents`. */
  async addText(document: TextDocument): Promise<Outcome> {
    const { text, format = "markdown", signal } = document;
    const uri = checkName(document.uri, "uri");
    const collection = checkName(document.collection ?? DEFAULT_COLLECTION, "collection");
    const bytes = Buffer.byteLength(text);
    if (bytes > this.#limits.maxDocumentBytes)
      throw new LoomError(
        "document_too_large",
        `The text has ${bytes} bytes; ${this.#limits.maxDocumentBytes} are allowed.`,
        { bytes, limit: this.#limits.maxDocumentBytes },
      );
    const read = readText(text, format, basename(uri) || uri);
    const title = document.title ?? read.title;
    const digest = hash("sha256", JSON.stringify([title, format, text]));
    const known = this.#store.find(uri);
    if (known?.hash === digest && known.collection === collection) return "unchanged";
    const chunks = await indexDocument({ ...read, title }, this.#limits, signal);
    const now = Date.now();
    const stored = { uri, collection, title, format, bytes, modifiedAt: now, indexedAt: now, hash: digest };
    const outcome: Outcome = known === undefined ? "added" : "updated";
    const prepared = { document: { ...stored, chunks: chunks.length }, chunks, outcome };
    const [settled] = await writeBatch(this.#store, [prepared], this.#limits, signal);
    if (settled !== undefined && typeof settled.outcome === "object")
      throw new LoomError(settled.outcome.code, settled.outcome.message, { limit: this.#limits.maxDocuments });
    return outcome;
  }

  /** In the order of their uris, from the one after `after`; 100 when no limit is given. */
  async list({
    collection,
    after = "",
    limit = 100,
  }: { readonly collection?: string; readonly after?: string; readonly limit?: number } = {}): Promise<
    readonly DocumentInfo[]
  > {
    return this.#store.list(collection, after, Math.min(Math.max(0, limit), MAX_LISTED)).map(toInfo);
  }

  async get(uri: string): Promise<DocumentInfo | undefined> {
    const found = this.#store.find(uri) ?? this.#store.find(resolve(uri));
    return found === undefined ? undefined : toInfo(found);
  }

  /** Removes a document, or all of a folder; returns how many. */
  async remove(uriOrFolder: string): Promise<number> {
    if (uriOrFolder === "") return 0;
    for (const uri of new Set([uriOrFolder, resolve(uriOrFolder)])) {
      const found = this.#store.find(uri);
      if (found !== undefined) {
        this.#store.transact(() => this.#store.delete(found.key));
        return 1;
      }
      const folder = /[/\\]$/.test(uri) ? uri : `${uri}${uri.includes("/") ? "/" : sep}`;
      const removed = await this.#removeUnder(folder, () => true);
      if (removed > 0) return removed;
    }
    return 0;
  }

  /** The best passages first. */
  async search(query: string, options: SearchOptions = {}): Promise<readonly SearchHit[]> {
    const { limit = DEFAULT_HITS, collection, signal } = options;
    signal?.throwIfAborted();
    const most = Number.isFinite(limit) ? Math.min(Math.floor(limit), MAX_HITS) : MAX_HITS;
    return searchPassages(this.#store, query, most, collection, this.#limits);
  }

  async retrieve(query: string, { limit, signal }: RetrieveOptions): Promise<readonly SearchHit[]> {
    return this.search(query, { limit, signal });
  }

  async stats(): Promise<KnowledgeBaseStats> {
    return { ...this.#store.count(), collections: this.#store.listCollections() };
  }

  async close(): Promise<void> {
    this.#store.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #prune(root: string, there: ReadonlySet<string>, signal: AbortSignal | undefined): Promise<number> {
    return this.#removeUnder(root.endsWith(sep) ? root : root + sep, (uri) => !there.has(uri), signal);
  }

  async #removeUnder(folder: string, isGone: (uri: string) => boolean, signal?: AbortSignal): Promise<number> {
    let removed = 0;
    let after = "";
    for (;;) {
      signal?.throwIfAborted();
      const some = this.#store.listUnder(folder, after, DELETED_AT_ONCE);
      const gone = some.filter(({ uri }) => isGone(uri));
      if (gone.length > 0)
        this.#store.transact(() => {
          for (const { key } of gone) this.#store.delete(key);
        });
      removed += gone.length;
      const last = some.at(-1);
      if (last === undefined) return removed;
      after = last.uri;
      await turn();
    }
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

function checkName(name: string, what: string): string {
  if (typeof name === "string" && name !== "" && name.length <= MAX_NAME && !name.includes("\0") && name.isWellFormed())
    return name;
  throw new LoomError("invalid_name", `a ${what} has 1 to ${MAX_NAME} characters, and no zero among them`);
}

function toInfo({ key: _key, hash: _hash, ...info }: StoredDocument): DocumentInfo {
  return info;
}
