/**
 * Brings files into a knowledge base: reads what has changed, and writes it in batches. It holds no transaction while it
 * waits, and gives others their turn between batches.
 *
 * Invariants: a file that cannot be read is told and costs nobody else; a batch is in the base whole or not at all; a
 * document that is too long for one batch is marked as unfinished until its last part is there.
 */
import { hash } from "node:crypto";
import { open, type FileHandle } from "node:fs/promises";
import { setImmediate as turn } from "node:timers/promises";
import { type ErrorCode, isLoomError, LoomError } from "../../protocol/index.ts";
import type { KnowledgeBaseLimits } from "./knowledge-base-options.ts";
import type { ChunkToWrite, DocumentToWrite, KnowledgeStore, StoredDocument } from "./knowledge-store.ts";
import { type DocumentFormat, findFormat, indexDocument, readDocument } from "./read-document.ts";

export type Outcome = "added" | "updated" | "unchanged";

export interface ImportFailure {
  readonly path: string;
  readonly code: ErrorCode;
  readonly message: string;
}

export interface Settled {
  readonly path: string;
  readonly outcome: Outcome | ImportFailure;
}

interface Prepared {
  readonly document: DocumentToWrite;
  readonly chunks: readonly ChunkToWrite[];
  readonly outcome: Outcome;
}

/** Passages of a batch, and so of what others have to wait for. */
const BATCH_CHUNKS = 128;
/** A file that was written so shortly before it was read may have been written again within the same tick of its clock. */
const FRESH_MS = 2000;

/** Tells of each file once it is in the base, or known not to be. Throws what the store throws. */
export async function* importFiles(
  store: KnowledgeStore,
  paths: readonly string[],
  collection: string,
  limits: KnowledgeBaseLimits,
  signal: AbortSignal | undefined,
): AsyncGenerator<readonly Settled[]> {
  let batch: Prepared[] = [];
  let size = 0;
  for (const [index, path] of paths.entries()) {
    signal?.throwIfAborted();
    const made = await prepareFile(store, path, collection, limits, signal);
    if (typeof made === "string" || "code" in made) yield [{ path, outcome: made }];
    else {
      batch.push(made);
      size += made.chunks.length + 1;
    }
    if (size < BATCH_CHUNKS && index < paths.length - 1) continue;
    yield await writeBatch(store, batch, limits, signal);
    batch = [];
    size = 0;
    await turn();
  }
}

async function prepareFile(
  store: KnowledgeStore,
  path: string,
  collection: string,
  limits: KnowledgeBaseLimits,
  signal: AbortSignal | undefined,
): Promise<Prepared | "unchanged" | ImportFailure> {
  let file: FileHandle | undefined;
  try {
    file = await open(path, "r");
    const { size, mtimeMs } = await file.stat();
    if (size > limits.maxDocumentBytes)
      throw new LoomError("document_too_large", `The file has ${size} bytes; ${limits.maxDocumentBytes} are allowed.`, {
        bytes: size,
        limit: limits.maxDocumentBytes,
      });
    const known = store.find(path);
    const isSame = known?.collection === collection && known.hash !== "" && known.bytes === size;
    if (isSame && known.modifiedAt === mtimeMs && mtimeMs < known.indexedAt - FRESH_MS) return "unchanged";
    const now = Date.now();
    const bytes = await file.readFile();
    if (bytes.length > limits.maxDocumentBytes)
      throw new LoomError("document_too_large", `The file has more than ${limits.maxDocumentBytes} bytes.`);
    const format: DocumentFormat = findFormat(path) ?? "text";
    const digest = hash("sha256", bytes);
    if (isSame && known.hash === digest) {
      store.transact(() => store.touch(known.key, digest, mtimeMs, now));
      return "unchanged";
    }
    const read = await readDocument(bytes, path, format, signal);
    const chunks = await indexDocument(read, limits, signal);
    const document = {
      uri: path,
      collection,
      title: read.title,
      format,
      bytes: bytes.length,
      modifiedAt: mtimeMs,
      indexedAt: now,
      hash: digest,
      chunks: chunks.length,
    };
    return { document, chunks, outcome: outcomeOf(known) };
  } catch (error) {
    signal?.throwIfAborted();
    return describeFailure(path, error);
  } finally {
    await file?.close().catch(() => undefined);
  }
}

function outcomeOf(known: StoredDocument | undefined): Outcome {
  return known === undefined ? "added" : "updated";
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
  store: KnowledgeStore,
  batch: readonly Prepared[],
  { maxDocuments }: KnowledgeBaseLimits,
  signal: AbortSignal | undefined,
): Promise<readonly Settled[]> {
  const short = batch.filter(({ chunks }) => chunks.length <= BATCH_CHUNKS);
  const long = batch.filter(({ chunks }) => chunks.length > BATCH_CHUNKS);
  const settled: Settled[] = [];
  if (batch.length === 0) return settled;
  store.transact(() => {
    let room = maxDocuments - store.count().documents;
    for (const { document, chunks, outcome } of short) {
      const path = document.uri;
      if (outcome === "added") room -= 1;
      if (outcome === "added" && room < 0) settled.push({ path, outcome: refuseMore(path, maxDocuments) });
      else {
        store.write(document, chunks);
        settled.push({ path, outcome });
      }
    }
  });
  for (const { document, chunks, outcome } of long) {
    const path = document.uri;
    if (outcome === "added" && store.count().documents >= maxDocuments)
      settled.push({ path, outcome: refuseMore(path, maxDocuments) });
    else {
      await writeLong(store, document, chunks, signal);
      settled.push({ path, outcome });
    }
  }
  return settled;
}

async function writeLong(
  store: KnowledgeStore,
  document: DocumentToWrite,
  chunks: readonly ChunkToWrite[],
  signal: AbortSignal | undefined,
): Promise<void> {
  const key = store.transact(() => store.write({ ...document, hash: "" }, chunks.slice(0, BATCH_CHUNKS)));
  for (let at = BATCH_CHUNKS; at < chunks.length; at += BATCH_CHUNKS) {
    await turn();
    if (signal?.aborted === true) {
      store.transact(() => store.delete(key));
      throw signal.reason;
    }
    const part = chunks.slice(at, at + BATCH_CHUNKS);
    // Another process may have taken the document over, or removed it.
    if (!store.transact(() => store.append(key, document.collection, part))) return;
  }
  store.transact(() => store.seal(key, document.hash, chunks.length));
}

function refuseMore(path: string, limit: number): ImportFailure {
  return {
    path,
    code: "too_many_documents",
    message: `The knowledge base holds ${limit} documents and takes no more.`,
  };
}
