/**
 * A thought that may use tools: calls the model and the tools it requests until the model returns the result.
 *
 * Invariant: each model answer and its tool results are remembered before the next step, so that neither a restart nor
 * another attempt repeats them. Unusable answers are not remembered.
 */
import type { PartContext } from "../../graph/graph.ts";
import type { AssistantPart, ModelMessage, ToolCallPart, ToolResultPart } from "../../models/model.ts";
import { type Json, LoomError } from "../../protocol/index.ts";
import { listOpenCalls } from "../agent-run.ts";
import { createWarning, describeCut } from "../create-warning.ts";
import { fitResults } from "../fit-results.ts";
import { runCalls } from "../run-calls.ts";
import { toResult } from "../run-messages.ts";
import { think, type ThinkResult } from "../think.ts";
import type { Execution, GotContext } from "./execution.ts";
import { shareSlot } from "./share-slot.ts";

/** The remembered part of an answer. */
interface RememberedTurn {
  readonly content: readonly AssistantPart[];
  readonly malformed?: { readonly [callId: string]: string };
}

const LAST_ROUND = "You may not call any more tools. Write the result now, with what you know.";

/** Returns the text of the last answer. */
export async function thinkWithTools(
  { context, node, scheduler }: Execution,
  part: PartContext,
  asked: readonly ModelMessage[],
): Promise<string> {
  const { toolbox, limits, run } = context;
  const { signal } = node;
  // Without tools there is one call, which is remembered together with the result of the thought.
  const hasRounds = toolbox.names.length > 0 && limits.maxIterations > 0;
  if (!hasRounds && !part.has("think-1")) {
    const thought = await think(context, asked, { span: part.span, signal, label: "think-1", channel: "thought" });
    return readText(context, part, thought);
  }
  const messages = [...asked];
  for (let round = 1; ; round++) {
    const isLast = round > limits.maxIterations;
    const turn = await part.once(`think-${round}`, async (inner): Promise<Json> => {
      closeCallsOf(run, part.span);
      const prompt: readonly ModelMessage[] = isLast
        ? [...messages, { role: "user", content: [{ type: "text", text: LAST_ROUND }] }]
        : messages;
      const thought = await think(context, prompt, {
        span: inner.span,
        signal,
        label: `think-${round}`,
        channel: "thought",
        tools: toolbox.describe(),
        ...(isLast ? { toolChoice: "none" } : {}),
      });
      if (isLast) reportLimit(inner, limits.maxIterations);
      const wantsTools = thought.calls.length > 0 && !isLast;
      if (!wantsTools) return { content: [{ type: "text", text: readText(context, inner, thought) }] };
      return toTurn(thought) as unknown as Json;
    });
    const { content, malformed = {} } = turn as unknown as RememberedTurn;
    const calls = content.filter((piece): piece is ToolCallPart => piece.type === "tool-call");
    if (calls.length === 0) return content.map((piece) => (piece.type === "text" ? piece.text : "")).join("");
    const results = await part.once(`act-${round}`, async ({ span }): Promise<Json> => {
      const { ready, endedCalls } = node;
      const monitor = shareSlot(scheduler, calls.length);
      const outcomes = await runCalls(context, calls, { span, signal, ready, endedCalls, malformed, monitor });
      const given = outcomes.map(({ callId, name, result, isError }) =>
        toResult(callId, name, { result, is_error: isError }),
      );
      return fitResults(given) as unknown as Json;
    });
    messages.push({ role: "assistant", content });
    messages.push({ role: "tool", content: results as unknown as readonly ToolResultPart[] });
  }
}

/** Returns the result. Throws if the text is empty. */
function readText({ stage }: GotContext, part: PartContext, { result }: ThinkResult): string {
  const text = result.text.trim();
  if (text === "") throw new LoomError("model_output_invalid", "The model gave an empty result", { stage });
  const cut = describeCut(result.finishReason, stage);
  if (cut !== undefined) part.emitWithResult(cut);
  return text;
}

function toTurn({ content, calls }: ThinkResult): RememberedTurn {
  const malformed = calls.flatMap(({ callId, input, rawInput }) =>
    input === undefined ? [[callId, rawInput] as const] : [],
  );
  return { content, ...(malformed.length === 0 ? {} : { malformed: Object.fromEntries(malformed) }) };
}

function reportLimit(part: PartContext, maxIterations: number): void {
  const message = `The thought reached its limit of ${maxIterations} rounds; its result may be incomplete`;
  part.emitWithResult(createWarning(message, "iteration_limit", "iteration_limit"));
}

/**
 * Closes open tool calls of node runs with this name: calls of an answer that was never completed, and calls that the
 * model made although it may not.
 */
export function closeCallsOf(
  run: GotContext["run"],
  { name, nodeId: closer }: Pick<PartContext["span"], "name" | "nodeId">,
): void {
  const prefix = `run-${name}-`;
  const callIds = listOpenCalls(run, ({ nodeId = "", isNested = false }) => {
    // Other names may begin with this one, and an agent that works as a tool may use the same names.
    return !isNested && nodeId.startsWith(prefix) && /^\d+$/.test(nodeId.slice(prefix.length));
  });
  if (callIds.length > 0) run.closeCalls(callIds, { reason: "interrupted", nodeId: closer });
}
