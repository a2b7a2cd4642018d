/**
 * Imports files into a knowledge base: reads those that changed and writes them in batches. It yields to the event loop
 * between batches.
 *
 * Invariants: a file that cannot be read is reported and does not affect other files; the old version of a document is found until the new one is written, or until the file is known to have
 * changed but cannot be read.
 */
import { hash } from "node:crypto";
import type { FileHandle } from "node:fs/promises";
import { setImmediate as yieldToLoop } from "node:timers/promises";
import { type ErrorCode, isLoomError } from "../../protocol/index.ts";
import type { KnowledgeBaseLimits } from "./knowledge-base-options.ts";
import type { KnowledgeStore, PreparedDocument, WriteOutcome } from "./knowledge-store.ts";
import { type DocumentFormat, findFormat } from "./document-format.ts";
import { indexDocument, readDocument } from "./read-document.ts";
import { openFile, readBytes, readState } from "./read-file.ts";
import type { PdfReader } from "./read-pdf.ts";
import { isWithin } from "./walk-folder.ts";

/** What happened to a document: it was new, had changed, or was the same as before. */
export type ImportOutcome = WriteOutcome;

/** A file that could not be imported, and why. */
export interface ImportFailure {
  readonly path: string;
  readonly code: ErrorCode;
  readonly message: string;
}

/** The result for one file. */
export interface ImportedFile {
  readonly path: string;
  readonly outcome: ImportOutcome | ImportFailure;
  /** The document was removed because its file changed and can no longer be read. */
  readonly isRemoved?: true;
}

export interface ImportTarget {
  readonly store: KnowledgeStore;
  readonly pdf: PdfReader;
  readonly limits: KnowledgeBaseLimits;
}

export interface DocumentImportOptions {
  /** If undefined, a known document keeps its collection and a new one goes to `default`. */
  readonly collection: string | undefined;
  /** The imported folder; null for a single file. */
  readonly root: string | null;
  readonly signal: AbortSignal | undefined;
}

export const DEFAULT_COLLECTION = "default";
/** Passages and documents written at once. */
const BATCH = 128;
/** A file modified this shortly before it was read may change again without a new modification time. */
const FRESH_MS = 2000;

/** Imports the files and yields each result once it is final. Throws errors of the store. */
export async function* importFiles(
  target: ImportTarget,
  paths: readonly string[],
  options: DocumentImportOptions,
): AsyncGenerator<readonly ImportedFile[]> {
  let batch: PreparedDocument[] = [];
  let size = 0;
  for (const [index, path] of paths.entries()) {
    options.signal?.throwIfAborted();
    const made = await prepareFile(target, path, options);
    if ("outcome" in made) yield [made];
    else {
      batch.push(made);
      size += made.chunks.length + 1;
    }
    if (size < BATCH && index < paths.length - 1) continue;
    yield await writeBatch(target, batch, options.signal);
    batch = [];
    size = 0;
    await yieldToLoop();
  }
}

async function prepareFile(
  target: ImportTarget,
  path: string,
  options: DocumentImportOptions,
): Promise<PreparedDocument | ImportedFile> {
  const { store, pdf, limits } = target;
  const { signal } = options;
  const known = await store.find(path);
  const collection = options.collection ?? known?.collection ?? DEFAULT_COLLECTION;
  const root = chooseRoot(known?.root ?? null, options.root);
  let file: FileHandle | undefined;
  let hasChanged = false;
  try {
    file = await openFile(path);
    const { size, modifiedAt, stamp } = await readState(file);
    hasChanged = known?.bytes !== size;
    const isInCollection = known?.collection === collection && known.hash !== "";
    const isSettled = known !== undefined && modifiedAt < known.indexedAt - FRESH_MS;
    if (isInCollection && !hasChanged && isSettled && known.stamp === stamp && known.root === root)
      return { path, outcome: "unchanged" };
    const indexedAt = Date.now();
    const bytes = await readBytes(file, size, limits.maxDocumentBytes, signal);
    const format: DocumentFormat = findFormat(path) ?? "text";
    const found = { uri: path, collection, format, bytes: bytes.length, modifiedAt, indexedAt, root, stamp };
    const digest = hash("sha256", bytes);
    hasChanged = known?.hash !== digest;
    if (isInCollection && !hasChanged) {
      await store.touch(known.key, { ...found, hash: digest });
      return { path, outcome: "unchanged" };
    }
    const read = await readDocument(bytes, path, format, pdf, signal);
    const chunks = await indexDocument(read, limits, signal);
    return { document: { ...found, hash: digest, title: read.title, chunks: chunks.length }, chunks };
  } catch (error) {
    signal?.throwIfAborted();
    const outcome = describeFailure(path, error);
    if (known === undefined || !hasChanged) return { path, outcome };
    await store.remove([known.key]);
    return { path, outcome, isRemoved: true };
  } finally {
    await file?.close().catch(() => undefined);
  }
}

/** The outermost folder whose import found the document. */
function chooseRoot(known: string | null, root: string | null): string | null {
  if (root === null) return known;
  return known !== null && isWithin(root, known) ? known : root;
}

/** Describes a failure of one file. Rethrows errors of the store. */
function describeFailure(path: string, error: unknown): ImportFailure {
  if (isLoomError(error, "unreadable_document", "document_too_large", "missing_package"))
    return { path, code: error.code, message: error.message };
  if (isLoomError(error)) throw error;
  const code = (error as NodeJS.ErrnoException | null)?.code;
  const why = typeof code === "string" ? ` (${code})` : "";
  return { path, code: "unreadable_document", message: `The file cannot be read${why}` };
}

export async function writeBatch(
  { store, limits: { maxDocuments } }: ImportTarget,
  batch: readonly PreparedDocument[],
  signal: AbortSignal | undefined,
): Promise<readonly ImportedFile[]> {
  if (batch.length === 0) return [];
  const outcomes = await store.write(batch, signal);
  return batch.map(({ document: { uri: path } }, index) => {
    const outcome = outcomes[index] ?? "unchanged";
    return { path, outcome: outcome === "full" ? createLimitFailure(path, maxDocuments) : outcome };
  });
}

function createLimitFailure(path: string, limit: number): ImportFailure {
  return {
    path,
    code: "too_many_documents",
    message: `The knowledge base is full: the limit is ${limit} documents. Remove documents first.`,
  };
}
