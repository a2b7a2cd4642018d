/**
 * ReAct as a graph: the model thinks, the tools it calls act, what they gave is observed, and it thinks again, until it
 * answers. The state is this run's part of the conversation; what was before comes with the context.
 */
import { append, defineGraph, END, merge, type NodeContext, replace, type StateOf } from "../../graph/index.ts";
import type { ModelMessage } from "../../models/model.ts";
import type { Json } from "../../protocol/index.ts";
import type { AgentContext } from "../agent-kind.ts";
import { describeCut } from "../describe-cut.ts";
import { fitResults } from "../fit-results.ts";
import { runCalls } from "../run-calls.ts";
import { toResult } from "../run-messages.ts";
import { think } from "../think.ts";

export interface ReactContext extends AgentContext {
  readonly maxIterations: number;
  /** The tool whose arguments are the answer, where the answer has a form. */
  readonly answerTool: string | undefined;
  /** The node run that was entered last: that of a reply which nobody has streamed. */
  lastNodeId?: string;
}

const channels = {
  /** This run's messages, the user's first. */
  messages: append<ModelMessage>(),
  /** Rounds of thinking and acting that are over. */
  round: replace<number>(0),
  /** The model's text of arguments that are no JSON object, by call. */
  malformed: merge<string>(),
  /** The answer, where it has a form. */
  answer: replace<Json>(null),
};

export type ReactState = StateOf<typeof channels>;

const LAST_ROUND =
  "You have used all rounds you may use tools in. Answer now with what you know, and say what is missing.";

/** Rounds after the last in which an answer that has a form may be put right. */
const ANSWER_TRIES = 2;

export function createReactGraph(context: ReactContext) {
  return defineGraph({
    name: "react",
    channels,
    start: "think",
    // Each round is three steps, and each limit is told by its own name.
    maxSteps: 3 * context.maxIterations + 10,
    nodes: {
      think: async (state, node) => {
        closeForgotten(context.run);
        context.lastNodeId = node.span.nodeId;
        const isLast = state.round >= context.maxIterations;
        if (state.round === context.maxIterations) reportLimit(node, context.maxIterations);
        const { content, calls, result } = await think(
          node.span,
          context.model,
          {
            messages: composePrompt(context, state, isLast),
            ...(context.toolbox.names.length === 0 ? {} : { tools: context.toolbox.describe() }),
            ...chooseTool(context, state, isLast),
            settings: context.settings,
          },
          {
            ...context.callOptions,
            stage: context.stage,
            signal: node.signal,
            run: context.run,
            // An answer that has a form is not what the model says beside it.
            ...(context.answerTool === undefined ? {} : { channel: "thought" }),
          },
        );
        const cut = describeCut(result.finishReason, context.stage);
        if (cut !== undefined) void node.span.emit(cut);
        const malformed = calls.flatMap(({ callId, input, rawInput }) =>
          input === undefined ? [[callId, rawInput]] : [],
        );
        return {
          ...(content.length === 0 ? {} : { messages: [{ role: "assistant", content }] as const }),
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
        const given = outcomes.find(({ name, isError }) => name === context.answerTool && !isError);
        return {
          messages: [{ role: "tool", content }] as const,
          // Data that was too large for its record is still in the call itself.
          ...(given === undefined ? {} : { answer: given.output ?? findInput(state, given.callId) }),
        };
      },
      observe: ({ round }) => ({ round: round + 1 }),
    },
    edges: {
      think: ({ messages, round }) => {
        const last = messages.at(-1);
        const hasCalls = last !== undefined && listCallIds(last).length > 0;
        if (context.answerTool === undefined) return hasCalls && round < context.maxIterations ? "act" : END;
        // An answer without its form is asked for again.
        return hasCalls ? "act" : "observe";
      },
      act: "observe",
      // A model that will not give its answer the form it must have is given up on.
      observe: ({ answer, round }) => (answer === null && round < context.maxIterations + ANSWER_TRIES ? "think" : END),
    },
  });
}

function composePrompt(
  { system, history, answerTool }: ReactContext,
  { messages }: ReactState,
  isLast: boolean,
): readonly ModelMessage[] {
  const notes = [
    ...(isLast ? [LAST_ROUND] : []),
    ...(answerTool !== undefined && messages.at(-1)?.role === "assistant" ? [askForForm(answerTool)] : []),
  ];
  return [
    ...(system === undefined ? [] : [{ role: "system", content: system } as const]),
    ...history,
    ...messages,
    ...notes.map((text): ModelMessage => ({ role: "user", content: [{ type: "text", text }] })),
  ];
}

function askForForm(answerTool: string): string {
  return `That was not the form the answer must have. Give it by calling ${answerTool}.`;
}

function chooseTool({ answerTool, toolbox }: ReactContext, { messages }: ReactState, isLast: boolean) {
  if (answerTool !== undefined) {
    const isAskedAgain = messages.at(-1)?.role === "assistant";
    if (isLast || isAskedAgain) return { toolChoice: { toolName: answerTool } };
    return {};
  }
  return isLast && toolbox.names.length > 0 ? ({ toolChoice: "none" } as const) : {};
}

/** Calls of a thought whose process died before it was whole: the model is asked anew, and nobody will make them. */
function closeForgotten(run: ReactContext["run"]): void {
  const callIds = [...run.work.calls].flatMap(({ callId }) => (callId === undefined ? [] : [callId]));
  if (callIds.length > 0) run.closeCalls(callIds, { reason: "interrupted" });
}

function reportLimit(node: NodeContext, maxIterations: number): void {
  void node.span.emit({
    type: "error",
    message: `the agent has used its ${maxIterations} rounds; it answers with what it has`,
    code: "iteration_limit",
    stage: "iteration_limit",
    recoverable: true,
  });
}

function findInput({ messages }: ReactState, callId: string): Json {
  const last = messages.at(-1);
  const parts = last?.role === "assistant" ? last.content : [];
  const call = parts.find((part) => part.type === "tool-call" && part.toolCallId === callId);
  return call?.type === "tool-call" ? call.input : null;
}

function listCallIds(message: ModelMessage): readonly string[] {
  if (message.role !== "assistant") return [];
  return message.content.flatMap((part) => (part.type === "tool-call" ? [part.toolCallId] : []));
}
