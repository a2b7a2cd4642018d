/** Agents: what carries out a run. */
export { agent, type Agent, type AgentOptions, type AnswerRequest, type CommonOptions } from "./agent.ts";
export type { AgentKindName } from "./agent-kind.ts";
export { Conversation, type HistoryOptions } from "./conversation.ts";
export type { GotOptions } from "./got/got.ts";
export type { AnswerForm, ReactOptions } from "./react/react.ts";
export { RunMessages } from "./run-messages.ts";
export type { TotOptions } from "./tot/tot.ts";
