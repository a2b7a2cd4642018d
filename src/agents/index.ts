/** Agents: they answer messages with a model and tools. */
export { agent, type Agent, type AnswerRequest } from "./agent.ts";
export { createTitleWriter, type TitleRequest, type WriteTitle } from "./create-title-writer.ts";
export type { AgentToolOptions } from "./agent-tool.ts";
export type { AgentKindName } from "./agent-kind.ts";
export type { AgentOptions, CommonOptions } from "./agent-options.ts";
export type { MemoryOptions } from "./agent-sessions.ts";
export type { ApprovalDecision, ApprovalQuestion, Approve } from "./answer-approval.ts";
export type { AgentCallOptions } from "./agent-call.ts";
export type {
  AgentEvent,
  AnswerCallOptions,
  ApprovalMethods,
  ApprovalRequestEvent,
  ApproveOptions,
  ClientCallMethods,
  EventPosition,
  GraphExpandedEvent,
  ToolStartedEvent,
} from "./agent-event.ts";
export type { AgentInput, InputAttachment, InputMessage, InputPart } from "./agent-input.ts";
export type { GotOptions } from "./got/got-settings.ts";
export type { OutputEvent, PartialOutput } from "./output-event.ts";
export type { OutputOptions, StructuredOutput } from "./output-format.ts";
export type { ReactOptions } from "./react/react.ts";
export type { RetrievalOptions } from "./retrieve-context.ts";
export type { RunProblem, RunResult, RunSource, RunUsage } from "./run-result.ts";
export type { AnswerStream, EventStream, StreamEvent } from "./stream-answer.ts";
export type { ThoughtToRate, TotOptions } from "./tot/tot-settings.ts";
