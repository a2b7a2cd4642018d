/** Agents: what carries out a run. */
export { agent, type Agent, type AgentOptions, type AnswerForm, type AnswerRequest } from "./agent.ts";
export { Conversation, type HistoryOptions } from "./conversation.ts";
export { RunMessages } from "./run-messages.ts";
