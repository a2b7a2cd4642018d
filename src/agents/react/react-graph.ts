/**
 * ReAct as a graph: think, act, observe, and think again until the model answers. The state has the messages of this
 * run; earlier messages come from the context.
 */
import { append, defineGraph, END, merge, type NodeContext, replace, type StateOf } from "../../graph/index.ts";
import type { FinishReason, ModelMessage } from "../../models/model.ts";
import { describeModel } from "../../models/model-fault.ts";
import { type Json, LoomError } from "../../protocol/index.ts";
import type { AgentContext } from "../agent-kind.ts";
import { isBlank } from "../compose-question.ts";
import { listOpenCalls } from "../agent-run.ts";
import { createWarning, describeCut, describeEmpty } from "../create-warning.ts";
import { fitResults } from "../fit-results.ts";
import { runCalls } from "../run-calls.ts";
import { toResult } from "../run-messages.ts";
import { think } from "../think.ts";

export interface ReactContext extends AgentContext {
  readonly maxIterations: number;
  /** The latest node run; a reply that was not streamed belongs to it. */
  lastNodeId?: string;
}

const channels = {
  /** Messages of this run, the user's first. */
  messages: append<ModelMessage>(),
  /** Number of finished rounds. */
  round: replace<number>(0),
  /** Raw arguments that are not a JSON object, by call ID. */
  malformed: merge<string>(),
  /** The structured output: an object with the accepted reply as `json`. */
  answer: replace<Json>(null),
};

export type ReactState = StateOf<typeof channels>;

const LAST_ROUND = "You may not call any more tools. Answer now with what you know, and say what is missing.";

export function createReactGraph(context: ReactContext) {
  return defineGraph({
    name: "react",
    channels,
    start: "think",
    // Each round has three steps. The limit must be higher, so that `iteration_limit` is reached first.
    maxSteps: 3 * context.maxIterations + 10 + (context.output?.maxRetries ?? 0),
    nodes: {
      think: async (state, node) => {
        closeOrphanedCalls(context.run, node.span.nodeId);
        context.lastNodeId = node.span.nodeId;
        const isLast = state.round >= context.maxIterations;
        const { output, stage, toolbox } = context;
        const hasTools = toolbox.names.length > 0;
        if (state.round === context.maxIterations) reportLimit(node, context.maxIterations);
        const { content, calls, result } = await think(context, composePrompt(context, state, isLast), {
          span: node.span,
          signal: node.signal,
          ...(hasTools ? { tools: toolbox.describe() } : {}),
          ...(isLast && hasTools ? { toolChoice: "none" } : {}),
          ...(output === undefined ? {} : { responseFormat: output.responseFormat }),
          // A reply that must be checked is not an answer yet.
          ...(output === undefined || output.origin === "call" ? {} : { channel: "thought" }),
          isClientFormat: output?.origin === "run",
        });
        const cut = describeCut(result.finishReason, stage);
        if (cut !== undefined) void node.span.emit(cut);
        if (calls.length === 0 && isBlank(result.text) && output === undefined)
          reportEmpty(node, context, state.messages, result.finishReason);
        const malformed = calls.flatMap(({ callId, input, rawInput }) =>
          input === undefined ? [[callId, rawInput]] : [],
        );
        const reading = output === undefined || calls.length > 0 ? undefined : await output.read(result.text);
        const messages: readonly ModelMessage[] = [
          ...(content.length === 0 ? [] : [{ role: "assistant", content } as const]),
          ...(reading?.ok === false ? [describeFault(reading.fault)] : []),
        ];
        return {
          ...(messages.length === 0 ? {} : { messages }),
          ...(reading?.ok === true ? { answer: { json: reading.json } } : {}),
          ...(malformed.length === 0 ? {} : { malformed: Object.fromEntries(malformed) as { [id: string]: string } }),
        };
      },
      act: async (state, node) => {
        context.lastNodeId = node.span.nodeId;
        const last = state.messages.at(-1);
        const calls = last?.role === "assistant" ? last.content.filter((part) => part.type === "tool-call") : [];
        const outcomes = await runCalls(context, calls, {
          span: node.span,
          signal: node.signal,
          ready: () => node.ready(),
          endedCalls: node.endedCalls,
          malformed: state.malformed,
        });
        if (outcomes.length === 0) return {};
        const content = fitResults(
          outcomes.map(({ callId, name, result, isError }) => toResult(callId, name, { result, is_error: isError })),
        );
        return { messages: [{ role: "tool", content }] as const };
      },
      observe: ({ round }) => ({ round: round + 1 }),
    },
    edges: {
      think: (state) => {
        const { messages, round } = state;
        const last = messages.at(-1);
        const hasCalls = last !== undefined && listCallIds(last).length > 0;
        const { output } = context;
        if (output !== undefined && last?.role === "user")
          return listFaults(state).length <= output.maxRetries ? "think" : END;
        return hasCalls && round < context.maxIterations ? "act" : END;
      },
      act: "observe",
      observe: "think",
    },
  });
}

function composePrompt(
  { system, history, output }: ReactContext,
  { messages }: ReactState,
  isLast: boolean,
): readonly ModelMessage[] {
  const instructions = [system, output?.instruction].filter((text) => text !== undefined).join("\n\n");
  return [
    ...(instructions === "" ? [] : [{ role: "system", content: instructions } as const]),
    ...history,
    ...messages,
    ...(isLast ? [{ role: "user", content: [{ type: "text", text: LAST_ROUND }] } as const] : []),
  ];
}

function describeFault(fault: string): ModelMessage {
  const request = "Answer again with JSON that matches the schema.";
  return { role: "user", content: [fault, request].map((text) => ({ type: "text", text })) };
}

/** What was wrong with the rejected replies of structured output. Only these follow the user's message. */
export function listFaults({ messages }: ReactState): readonly string[] {
  const faults = messages.filter(({ role }) => role === "user").slice(1);
  return faults.map(({ content: [part] }) => (typeof part === "object" && part.type === "text" ? part.text : ""));
}

/**
 * Closes the calls of a thought that a crash left incomplete. The model is called again, so these calls will never run.
 */
function closeOrphanedCalls(run: ReactContext["run"], nodeId: string): void {
  const callIds = listOpenCalls(run);
  if (callIds.length > 0) run.closeCalls(callIds, { reason: "interrupted", nodeId });
}

/**
 * Reports an answer without text and calls. The run fails, unless the user has already seen text or the result of a
 * tool.
 */
function reportEmpty(
  node: NodeContext,
  { model, stage }: ReactContext,
  messages: readonly ModelMessage[],
  finishReason: FinishReason,
): void {
  const event = describeEmpty(model, finishReason, stage);
  if (messages.every(({ role }) => role === "user"))
    throw new LoomError("model_empty", event.message, { ...describeModel(model), stage });
  void node.span.emit(event);
}

function reportLimit(node: NodeContext, maxIterations: number): void {
  const message = `The agent reached its limit of ${maxIterations} rounds and answers with what it has`;
  void node.span.emit(createWarning(message, "iteration_limit", "iteration_limit"));
}

function listCallIds(message: ModelMessage): readonly string[] {
  if (message.role !== "assistant") return [];
  return message.content.flatMap((part) => (part.type === "tool-call" ? [part.toolCallId] : []));
}
