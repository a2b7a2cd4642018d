/** Agents: they answer messages with a model and tools. */
export { agent, type Agent } from "./agent.ts";
export type { AgentToolOptions } from "./agent-tool.ts";
export type { AgentOptions, CommonOptions } from "./agent-options.ts";
export type { ApprovalDecision, ApprovalQuestion, Approve } from "./answer-approval.ts";
export type { AgentCallOptions } from "./agent-call.ts";
export type { AgentEvent } from "./agent-event.ts";
export type { AgentInput, InputMessage } from "./agent-input.ts";
export type { GotOptions } from "./got/got-settings.ts";
export type { OutputEvent } from "./output-event.ts";
export type { ReactOptions } from "./react/react.ts";
export type { RetrievalOptions } from "./retrieve-context.ts";
export type { RunResult } from "./run-result.ts";
export type { StreamEvent } from "./stream-answer.ts";
export type { ThoughtToRate, TotOptions } from "./tot/tot-settings.ts";
