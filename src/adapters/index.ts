/** Records runs of other frameworks: adapters, `record` and `foreignAgent`. */
export { conversation, ConversationHistory, type ConversationOptions } from "./conversation.ts";
export { type CreateSource, foreignAgent, type ForeignAgentOptions, type ForeignContext } from "./foreign-agent.ts";
export { fromAsyncIterable, type IterableSource } from "./from-async-iterable.ts";
export type { RunResponseOptions } from "./create-run-response.ts";
export { record, type RecordedRun, type RecordRequest } from "./record.ts";
export type { Source, SourceAnswer, SourceContext, SourceEvent, SourceItem } from "./source.ts";
export type { SourceOptions } from "./source-recorder.ts";
