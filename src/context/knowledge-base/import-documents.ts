/**
 * Brings files into a knowledge base: reads what has changed, and writes it in batches. It holds no transaction while it
 * waits, and gives others their turn between batches.
 *
 * Invariants: a file that cannot be read is told and costs nobody else; a batch is in the base whole or not at all; what
 * was known of a file is found until something newer can be, and no longer than the file is known to be another.
 */
import { hash } from "node:crypto";
import type { FileHandle } from "node:fs/promises";
import { sep } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { type ErrorCode, isLoomError } from "../../protocol/index.ts";
import type { KnowledgeBaseLimits } from "./knowledge-base-options.ts";
import type { ChunkToWrite, DocumentToWrite, StoredDocument, Written } from "./knowledge-rows.ts";
import { CHUNKS_AT_ONCE, type KnowledgeStore } from "./knowledge-store.ts";
import { type DocumentFormat, findFormat, indexDocument, readDocument } from "./read-document.ts";
import { openFile, readBytes, readState } from "./read-file.ts";
import type { PdfReader } from "./read-pdf.ts";

export type Outcome = Written;

export interface ImportFailure {
  readonly path: string;
  readonly code: ErrorCode;
  readonly message: string;
}

export interface Settled {
  readonly path: string;
  readonly outcome: Outcome | ImportFailure;
  /** What was known of the file was out of date and is gone. */
  readonly isRemoved?: true;
}

export interface ImportTarget {
  readonly store: KnowledgeStore;
  readonly pdf: PdfReader;
  readonly limits: KnowledgeBaseLimits;
}

export interface ImportOptions {
  /** That of a document that is known stays where none is named. */
  readonly collection: string | undefined;
  /** The folder that is imported; null for a file by itself. */
  readonly root: string | null;
  readonly signal: AbortSignal | undefined;
}

export interface Prepared {
  readonly document: DocumentToWrite;
  readonly chunks: readonly ChunkToWrite[];
}

export const DEFAULT_COLLECTION = "default";
/** A file that was written so shortly before it was read may have been written again within the same tick of its clock. */
const FRESH_MS = 2000;

/** Tells of each file once it is in the base, or known not to be. Throws what the store throws. */
export async function* importFiles(
  target: ImportTarget,
  paths: readonly string[],
  options: ImportOptions,
): AsyncGenerator<readonly Settled[]> {
  let batch: Prepared[] = [];
  let size = 0;
  for (const [index, path] of paths.entries()) {
    options.signal?.throwIfAborted();
    const made = await prepareFile(target, path, options);
    if ("outcome" in made) yield [made];
    else {
      batch.push(made);
      size += made.chunks.length + 1;
    }
    if (size < CHUNKS_AT_ONCE && index < paths.length - 1) continue;
    yield await writeBatch(target, batch, options.signal);
    batch = [];
    size = 0;
    await turn();
  }
}

async function prepareFile(target: ImportTarget, path: string, options: ImportOptions): Promise<Prepared | Settled> {
  const { store, pdf, limits } = target;
  const { signal } = options;
  const known = store.find(path);
  const collection = options.collection ?? known?.collection ?? DEFAULT_COLLECTION;
  const root = chooseRoot(known?.root ?? null, options.root);
  let file: FileHandle | undefined;
  let isOther = false;
  try {
    file = await openFile(path);
    const { size, modifiedAt, stamp } = await readState(file);
    isOther = known?.bytes !== size;
    const isPlaced = known?.collection === collection && known.hash !== "";
    const isSettled = known !== undefined && modifiedAt < known.indexedAt - FRESH_MS;
    if (isPlaced && !isOther && isSettled && known.stamp === stamp && known.root === root)
      return { path, outcome: "unchanged" };
    const indexedAt = Date.now();
    const bytes = await readBytes(file, size, limits.maxDocumentBytes, signal);
    const format: DocumentFormat = findFormat(path) ?? "text";
    const found = { uri: path, collection, format, bytes: bytes.length, modifiedAt, indexedAt, root, stamp };
    const digest = hash("sha256", bytes);
    isOther = known?.hash !== digest;
    if (isPlaced && !isOther) {
      await store.transact(() => store.touch(known.key, { ...found, hash: digest }));
      return { path, outcome: "unchanged" };
    }
    const read = await readDocument(bytes, path, format, pdf, signal);
    const chunks = await indexDocument(read, limits, signal);
    return { document: { ...found, hash: digest, title: read.title, chunks: chunks.length }, chunks };
  } catch (error) {
    signal?.throwIfAborted();
    const outcome = describeFailure(path, error);
    if (known === undefined || !isOther) return { path, outcome };
    await store.transact(() => store.delete(known.key));
    await sweep(store, signal);
    return { path, outcome, isRemoved: true };
  } finally {
    await file?.close().catch(() => undefined);
  }
}

/** The outermost folder that found it. */
function chooseRoot(known: string | null, root: string | null): string | null {
  if (root === null) return known;
  return known !== null && isWithin(root, known) ? known : root;
}

/** Whether a path is a folder, or lies in it. */
export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

/** What concerns this file alone; throws what concerns the base. */
function describeFailure(path: string, error: unknown): ImportFailure {
  if (isLoomError(error, "unreadable_document", "document_too_large", "missing_package"))
    return { path, code: error.code, message: error.message };
  if (isLoomError(error)) throw error;
  const code = (error as NodeJS.ErrnoException | null)?.code;
  const why = typeof code === "string" ? ` (${code})` : "";
  return { path, code: "unreadable_document", message: `The file cannot be read${why}.` };
}

/** Writes documents, the long ones in parts with turns between them. */
export async function writeBatch(
  { store, limits: { maxDocuments } }: ImportTarget,
  batch: readonly Prepared[],
  signal: AbortSignal | undefined,
): Promise<readonly Settled[]> {
  if (batch.length === 0) return [];
  const short = batch.filter(({ chunks }) => chunks.length <= CHUNKS_AT_ONCE);
  const long = batch.filter(({ chunks }) => chunks.length > CHUNKS_AT_ONCE);
  const isFull = (known: StoredDocument | undefined): boolean =>
    known === undefined && store.count().documents >= maxDocuments;
  const settled = await store.transact(() =>
    short.map(({ document, chunks }): Settled => {
      const path = document.uri;
      const outcome = isFull(store.find(path)) ? refuseMore(path, maxDocuments) : store.write(document, chunks);
      return { path, outcome };
    }),
  );
  for (const { document, chunks } of long) {
    const path = document.uri;
    if (isFull(store.find(path))) settled.push({ path, outcome: refuseMore(path, maxDocuments) });
    else settled.push({ path, outcome: await writeLong(store, document, chunks, signal) });
  }
  await sweep(store, signal);
  return settled;
}

/** Beside what is there, which is found until the last part is written. */
async function writeLong(
  store: KnowledgeStore,
  document: DocumentToWrite,
  chunks: readonly ChunkToWrite[],
  signal: AbortSignal | undefined,
): Promise<Outcome> {
  const key = await store.transact(() => store.begin(document));
  try {
    for (let at = 0; at < chunks.length; at += CHUNKS_AT_ONCE) {
      signal?.throwIfAborted();
      await store.transact(() => store.append(key, document, chunks.slice(at, at + CHUNKS_AT_ONCE)));
      await turn();
    }
    signal?.throwIfAborted();
    return await store.transact(() => store.publish(key, document));
  } catch (error) {
    // Where even that fails, it is found to be abandoned later.
    await store
      .transact(() => store.abandon(key))
      .then(
        () => sweep(store),
        () => undefined,
      );
    throw error;
  }
}

/** Deletes what is left of long documents, in parts: what nobody finds must not keep anybody waiting. */
export async function sweep(store: KnowledgeStore, signal?: AbortSignal, steps = Infinity): Promise<void> {
  for (let step = 0; step < steps && store.hasLeft(); step++) {
    if (signal?.aborted === true) return;
    await store.transact(() => store.sweep());
    await turn();
  }
}

function refuseMore(path: string, limit: number): ImportFailure {
  return {
    path,
    code: "too_many_documents",
    message: `The knowledge base holds ${limit} documents and takes no more.`,
  };
}
