/** What a knowledge base can be told, and what holds where it is not. */
import { LoomError } from "../../protocol/index.ts";

export interface KnowledgeBaseOptions {
  /** For messages about it; `knowledge base` when absent. */
  readonly name?: string;
  /** Bytes of one document; 10 MiB. Code `document_too_large`. */
  readonly maxDocumentBytes?: number;
  /** Pages of a PDF; 5000. Code `document_too_large`. */
  readonly maxPdfPages?: number;
  /** Characters of the text in a PDF; 10 million. Code `document_too_large`. */
  readonly maxPdfCharacters?: number;
  /** Memory that reading a PDF may take; 512 MiB. Code `document_too_large`. */
  readonly maxPdfMemoryBytes?: number;
  /** Time that reading a PDF may take; 30 seconds. Code `unreadable_document`. */
  readonly maxPdfMs?: number;
  /** Documents of the base; 200,000. Code `too_many_documents`. */
  readonly maxDocuments?: number;
  /** Files that one folder is looked through for; 100,000. Code `too_many_documents`. */
  readonly maxFiles?: number;
  /** Folders within each other; 32. Code `too_many_documents`. */
  readonly maxDepth?: number;
  /** Characters of a passage; 1200. */
  readonly maxChunkCharacters?: number;
  /** Characters that a passage shares with the one before it in its section; 120. */
  readonly overlapCharacters?: number;
  /** Characters of a question that are read; 2000. The rest is ignored. */
  readonly maxQueryCharacters?: number;
  /** Passages of one document in an answer; 2. */
  readonly maxPerDocument?: number;
  /** How long to wait for another process that writes; 5 seconds. Code `store_busy`. */
  readonly busyTimeoutMs?: number;
  /** Largest file that is looked through whole when it is opened; 16 MiB. */
  readonly maxCheckBytes?: number;
}

export type KnowledgeBaseLimits = Required<KnowledgeBaseOptions>;

const DEFAULTS: KnowledgeBaseLimits = {
  name: "knowledge base",
  maxDocumentBytes: 10 * 1024 * 1024,
  maxPdfPages: 5000,
  maxPdfCharacters: 10_000_000,
  maxPdfMemoryBytes: 512 * 1024 * 1024,
  maxPdfMs: 30_000,
  maxDocuments: 200_000,
  maxFiles: 100_000,
  maxDepth: 32,
  maxChunkCharacters: 1200,
  overlapCharacters: 120,
  maxQueryCharacters: 2000,
  maxPerDocument: 2,
  busyTimeoutMs: 5000,
  maxCheckBytes: 16 * 1024 * 1024,
};

/** Below this no sentence would fit. */
const MIN_CHUNK = 100;

/** Throws `invalid_arguments` for a limit that is none. */
export function resolveLimits(options: KnowledgeBaseOptions): KnowledgeBaseLimits {
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  const limits: KnowledgeBaseLimits = { ...DEFAULTS, ...given };
  for (const [name, value] of Object.entries(limits)) {
    if (name === "name" || (Number.isSafeInteger(value) && Number(value) >= 0)) continue;
    throw new LoomError("invalid_arguments", `\`${name}\` must be a whole number from 0, not ${String(value)}`);
  }
  const maxChunkCharacters = Math.max(MIN_CHUNK, limits.maxChunkCharacters);
  const overlapCharacters = Math.min(limits.overlapCharacters, Math.floor(maxChunkCharacters / 4));
  return { ...limits, maxChunkCharacters, overlapCharacters, maxPerDocument: Math.max(1, limits.maxPerDocument) };
}
