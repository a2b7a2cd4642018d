/** What the model is sent beside the question: what was found for it, and what was left out so that it fits. */
export type { CompressionOptions } from "./compression/compression-options.ts";
export type { Compressor, FitOptions, FittedPrompt, Prompt } from "./compression/compressor.ts";
export { createCompressor } from "./compression/create-compressor.ts";
export type { Passage, RetrieveOptions, Retriever } from "./retriever.ts";
