/** Entry point of context: knowledge base, retriever and compressor interfaces, and token counting. */
export type { CompressionOptions } from "./compression/compression-options.ts";
export { loadTokenCounter, type TokenCounter } from "./compression/token-counter.ts";
export type { ImportOutcome } from "./knowledge-base/import-documents.ts";
export type { DocumentPassage } from "./knowledge-base/read-passages.ts";
export type { KnowledgeBaseOptions } from "./knowledge-base/knowledge-base-options.ts";
export {
  type AddedDocument,
  type AddOptions,
  type AddReport,
  type ByteDocument,
  type DocumentInfo,
  type DocumentText,
  type KnowledgeBase,
  type KnowledgeBaseStats,
  openKnowledgeBase,
  type ReadDocumentOptions,
  type SearchOptions,
  type TextDocument,
} from "./knowledge-base/knowledge-base.ts";
export {
  openPostgresKnowledgeBase,
  type PostgresKnowledgeBaseOptions,
} from "./knowledge-base/open-postgres-knowledge-base.ts";
export type { DocumentFormat } from "./knowledge-base/document-format.ts";
export type { SearchHit } from "./knowledge-base/rank-passages.ts";
export type { Passage, RetrieveOptions, Retriever } from "./retriever.ts";
