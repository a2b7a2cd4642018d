/** Options of a knowledge base with their defaults. */
import { acceptInteger, type OptionTable, readOptions, TEXT_OPTION, withDefault } from "../../protocol/read-options.ts";

/** Options of `openKnowledgeBase`. */
export interface KnowledgeBaseOptions {
  /** Name used in messages. Default: `knowledge base`. */
  readonly name?: string;
  /** Maximum bytes of one document; code `document_too_large`. Default: 10 MiB. */
  readonly maxDocumentBytes?: number;
  /** Maximum pages of a PDF; code `document_too_large`. Default: 5,000. */
  readonly maxPdfPages?: number;
  /** Maximum characters of text in a PDF; code `document_too_large`. Default: 10,000,000. */
  readonly maxPdfCharacters?: number;
  /** Maximum bytes of the compressed streams of a PDF, expanded; without images. Code `document_too_large`. Default: 64 MiB. */
  readonly maxPdfExpandedBytes?: number;
  /** Maximum memory for reading a PDF, in bytes; code `document_too_large`. Default: 512 MiB. */
  readonly maxPdfMemoryBytes?: number;
  /** Maximum time for reading a PDF, in milliseconds; code `unreadable_document`. Default: 30,000. */
  readonly maxPdfMs?: number;
  /** Maximum documents in the knowledge base; code `too_many_documents`. Default: 200,000. */
  readonly maxDocuments?: number;
  /** Maximum files imported from one folder; code `too_many_documents`. Default: 100,000. */
  readonly maxFiles?: number;
  /** Maximum depth of nested folders; code `too_many_documents`. Default: 32. */
  readonly maxDepth?: number;
  /** Maximum characters of a passage, at least 100. Default: 1,200. */
  readonly maxChunkCharacters?: number;
  /**
   * Characters that a passage repeats from the previous one of its section; at most a quarter of a passage. Default:
   * 120.
   */
  readonly overlapCharacters?: number;
  /** Maximum passages of one document in a search result. Default: 2. */
  readonly maxPerDocument?: number;
  /** Time to wait for another process that is writing, in milliseconds; code `store_busy`. Default: 5,000. */
  readonly busyTimeoutMs?: number;
  /**
   * How long a search may run, and how long it may wait for others, in milliseconds; code `search_timeout`. A base in
   * memory has no limit. Default: 2,000.
   */
  readonly searchTimeoutMs?: number;
  /** Maximum searches that wait for others; code `too_many_searches`. Default: 1,000. */
  readonly maxWaitingSearches?: number;
}

export type KnowledgeBaseLimits = Required<KnowledgeBaseOptions>;

const countOf = (defaultValue: number) => withDefault(acceptInteger(0), defaultValue);

const OPTIONS = {
  name: withDefault(TEXT_OPTION, "knowledge base"),
  maxDocumentBytes: countOf(10 * 1024 * 1024),
  maxPdfPages: countOf(5000),
  maxPdfCharacters: countOf(10_000_000),
  maxPdfExpandedBytes: countOf(64 * 1024 * 1024),
  maxPdfMemoryBytes: countOf(512 * 1024 * 1024),
  maxPdfMs: countOf(30_000),
  maxDocuments: countOf(200_000),
  maxFiles: countOf(100_000),
  maxDepth: countOf(32),
  maxChunkCharacters: countOf(1200),
  overlapCharacters: countOf(120),
  maxPerDocument: countOf(2),
  busyTimeoutMs: countOf(5000),
  searchTimeoutMs: countOf(2000),
  maxWaitingSearches: countOf(1000),
} as const satisfies OptionTable<KnowledgeBaseOptions>;

/** Shorter passages could not hold a sentence. */
const MIN_CHUNK = 100;

/** Applies the defaults. Throws `invalid_arguments` for an invalid option. */
export function resolveLimits(options: KnowledgeBaseOptions): KnowledgeBaseLimits {
  const limits = readOptions(OPTIONS, options);
  const maxChunkCharacters = Math.max(MIN_CHUNK, limits.maxChunkCharacters);
  const overlapCharacters = Math.min(limits.overlapCharacters, Math.floor(maxChunkCharacters / 4));
  return { ...limits, maxChunkCharacters, overlapCharacters, maxPerDocument: Math.max(1, limits.maxPerDocument) };
}
