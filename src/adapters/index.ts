/** Records runs of other frameworks: adapters, `record` and `foreignAgent`. */
export { conversation, ConversationHistory } from "./conversation.ts";
export { foreignAgent, type ForeignAgentOptions, type ForeignContext } from "./foreign-agent.ts";
export { type AISDKContext, fromAISDK } from "./from-ai-sdk.ts";
export { fromAsyncIterable } from "./from-async-iterable.ts";
export { fromOpenAIAgents, type OpenAIAgentsContext } from "./from-openai-agents.ts";
export { fromOpenAI, type OpenAIStreamItem } from "./from-openai.ts";
export { fromLangGraph } from "./from-langgraph.ts";
export type { RunResponseOptions } from "./create-run-response.ts";
export { record, type ForeignRecording, type RecordRequest } from "./record.ts";
export { resumeRun, type ResumeRequest } from "./resume-run.ts";
export type { ForeignSource, SourceAnswer, SourceContext, SourceEvent, SourceItem } from "./source.ts";
