/** Entry point of context: knowledge base, retriever and compressor interfaces, and token counting. */
export type { CompressionOptions } from "./compression/compression-options.ts";
export { loadTokenCounter, type TokenCounter } from "./compression/token-counter.ts";
export type { KnowledgeBaseOptions } from "./knowledge-base/knowledge-base-options.ts";
export { type DocumentInfo, type KnowledgeBase, openKnowledgeBase } from "./knowledge-base/knowledge-base.ts";
export { openPostgresKnowledgeBase } from "./knowledge-base/open-postgres-knowledge-base.ts";
export type { SearchHit } from "./knowledge-base/rank-passages.ts";
export type { Passage, RetrieveOptions, Retriever } from "./retriever.ts";
