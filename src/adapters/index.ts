/** Records runs of other frameworks: adapters, `record` and `foreignAgent`. */
export { conversation, ConversationHistory, type ConversationOptions } from "./conversation.ts";
export { type CreateSource, foreignAgent, type ForeignAgentOptions, type ForeignContext } from "./foreign-agent.ts";
export type { AISDKMessage } from "./ai-sdk-messages.ts";
export {
  type AISDKContext,
  type AISDKInput,
  type AISDKOutput,
  type AISDKResult,
  type AISDKStream,
  fromAISDK,
} from "./from-ai-sdk.ts";
export { fromAsyncIterable, type IterableSource } from "./from-async-iterable.ts";
export {
  fromOpenAIAgents,
  type OpenAIAgentsContext,
  type OpenAIAgentsInput,
  type OpenAIAgentsResult,
} from "./from-openai-agents.ts";
export {
  fromOpenAI,
  type OpenAICallOutput,
  type OpenAIInput,
  type OpenAIStream,
  type OpenAIStreamItem,
  type OpenAIToolMessage,
} from "./from-openai.ts";
export { fromLangGraph, type LangGraph, type LangGraphConfig, type LangGraphStreamOptions } from "./from-langgraph.ts";
export type { ToResume } from "./langgraph/graph-interrupts.ts";
export type { RunResponseOptions } from "./create-run-response.ts";
export { record, type ForeignRecording, type RecordRequest } from "./record.ts";
export { resumeRun, type ResumeRequest } from "./resume-run.ts";
export type {
  ForeignSource,
  SourceAnswer,
  SourceCall,
  SourceContext,
  SourceEvent,
  SourceItem,
  SourceResult,
} from "./source.ts";
export type { ForeignSourceOptions } from "./source-recorder.ts";
export type {
  OpenAIAgentsItem,
  OpenAIAgentsPart,
  OpenAIContentPart,
  OpenAIInputItem,
  OpenAIInputPart,
  OpenAIMessage,
  OpenAIToolCall,
} from "./to-openai-input.ts";
export type { LangChainMessage, LangChainToolCall } from "./to-langchain-messages.ts";
