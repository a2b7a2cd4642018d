/**
 * A thought that may use tools: the model is asked, the tools it calls are run, and it is asked again, until it says what
 * the thought has come to. It knows no graph of thoughts.
 *
 * Invariant: an answer of the model and the results of its calls are remembered before the next step, so that after a
 * restart or in another try neither is asked for again. An answer without any use is not remembered.
 */
import type { Part } from "../../graph/index.ts";
import type { AssistantPart, ModelMessage, ToolCallPart, ToolResultPart } from "../../models/model.ts";
import { type Json, LoomError } from "../../protocol/index.ts";
import { describeCut } from "../describe-cut.ts";
import { fitResults } from "../fit-results.ts";
import { runCalls } from "../run-calls.ts";
import { toResult } from "../run-messages.ts";
import type { Thought } from "../think.ts";
import { askModel, createComplaint, type Execution, type GotContext } from "./execution.ts";
import { sharePlace } from "./share-place.ts";

/** What is remembered of an answer. */
interface Turn {
  readonly content: readonly AssistantPart[];
  readonly malformed?: { readonly [callId: string]: string };
}

const LAST_ROUND = "You have used all rounds you may use tools in. Write the result now, with what you know.";

/** Gives the text of the last answer. */
export async function thinkWithTools(
  { context, node, scheduler }: Execution,
  part: Part,
  asked: readonly ModelMessage[],
): Promise<string> {
  const { toolbox, limits, run } = context;
  const { signal } = node;
  // One call, whose text is the result: it is remembered with it.
  const hasRounds = toolbox.names.length > 0 && limits.maxIterations > 0;
  if (!hasRounds && !part.has("think-1")) {
    const thought = await askModel(context, signal, part.span, "think-1", asked);
    return readText(context, part, thought);
  }
  const messages = [...asked];
  for (let round = 1; ; round++) {
    const isLast = round > limits.maxIterations;
    const turn = await part.once(`think-${round}`, async (inner): Promise<Json> => {
      closeCallsOf(run, part.span.name);
      const prompt: readonly ModelMessage[] = isLast
        ? [...messages, { role: "user", content: [{ type: "text", text: LAST_ROUND }] }]
        : messages;
      const thought = await askModel(context, signal, inner.span, `think-${round}`, prompt, {
        tools: toolbox.describe(),
        ...(isLast ? { toolChoice: "none" } : {}),
      });
      if (isLast) reportLimit(inner, limits.maxIterations);
      const wantsTools = thought.calls.length > 0 && !isLast;
      if (!wantsTools) return { content: [{ type: "text", text: readText(context, inner, thought) }] };
      return toTurn(thought) as unknown as Json;
    });
    const { content, malformed = {} } = turn as unknown as Turn;
    const calls = content.filter((piece): piece is ToolCallPart => piece.type === "tool-call");
    if (calls.length === 0) return content.map((piece) => (piece.type === "text" ? piece.text : "")).join("");
    const results = await part.once(`act-${round}`, async ({ span }): Promise<Json> => {
      const { ready, endedCalls } = node;
      const watch = sharePlace(scheduler, calls.length);
      const outcomes = await runCalls(context, calls, { span, signal, ready, endedCalls, malformed, watch });
      const given = outcomes.map(({ callId, name, result, isError }) =>
        toResult(callId, name, { result, is_error: isError }),
      );
      return fitResults(given) as unknown as Json;
    });
    messages.push({ role: "assistant", content });
    messages.push({ role: "tool", content: results as unknown as readonly ToolResultPart[] });
  }
}

/** The result; a model that says nothing has not worked. */
function readText({ stage }: GotContext, part: Part, { result }: Thought): string {
  const text = result.text.trim();
  if (text === "") throw new LoomError("model_output_invalid", "the model gave no result", { stage });
  const cut = describeCut(result.finishReason, stage);
  if (cut !== undefined) part.conclude(cut);
  return text;
}

function toTurn({ content, calls }: Thought): Turn {
  const malformed = calls.flatMap(({ callId, input, rawInput }) =>
    input === undefined ? [[callId, rawInput] as const] : [],
  );
  return { content, ...(malformed.length === 0 ? {} : { malformed: Object.fromEntries(malformed) }) };
}

function reportLimit(part: Part, maxIterations: number): void {
  const message = `the thought has used its ${maxIterations} rounds; its result is what it has`;
  part.conclude(createComplaint("iteration_limit", message, "iteration_limit"));
}

/**
 * Ends the calls that were made in node runs of this name and that nobody will carry out: those of an answer that never
 * became whole, and those a model makes when it may not.
 */
export function closeCallsOf(run: GotContext["run"], name: string): void {
  const prefix = `run-${name}-`;
  const callIds: string[] = [];
  for (const { callId, nodeId = "" } of run.work.calls) {
    // Another name may begin with this one.
    const isOwn = nodeId.startsWith(prefix) && /^\d+$/.test(nodeId.slice(prefix.length));
    if (isOwn && callId !== undefined) callIds.push(callId);
  }
  if (callIds.length > 0) run.closeCalls(callIds, { reason: "interrupted" });
}
