/** Model calls of a tree search. */
import type { NodeRun } from "../../engine/index.ts";
import type { ModelMessage, ModelUsage } from "../../models/model.ts";
import { type ErrorCode, isLoomError } from "../../protocol/index.ts";
import type { ErrorEvent } from "../../protocol/events.generated.ts";
import type { AgentContext } from "../agent-kind.ts";
import type { AnswerFormat } from "../create-format.ts";
import { think, type ThinkResult } from "../think.ts";
import type { TotSettings } from "./tot-settings.ts";

export interface TotContext extends AgentContext {
  readonly search: TotSettings;
  /** The node run that writes the answer. */
  answerNodeId: string | undefined;
}

export interface TotCallOptions {
  readonly span: NodeRun;
  readonly signal: AbortSignal;
  readonly label?: string;
  readonly channel?: "answer" | "thought" | "judgement";
  readonly withTools?: boolean;
  /** Requests structured output, if the model has it. */
  readonly format?: AnswerFormat;
  /** Number of this sample; becomes part of the seed, so that samples of one prompt differ. */
  readonly sample?: number;
}

export interface TotReply {
  /** Undefined if the output was too large. */
  readonly thought: ThinkResult | undefined;
  readonly tokens: number;
}

export async function askModel(
  context: TotContext,
  messages: readonly ModelMessage[],
  { span, signal, label, channel = "thought", withTools = false, format, sample }: TotCallOptions,
): Promise<TotReply> {
  const { model, toolbox, settings, callOptions, stage, run } = context;
  const seed = sample === undefined ? {} : { seed: (settings.seed ?? 0) + sample };
  try {
    const thought = await think(
      span,
      model,
      {
        messages,
        ...(withTools && toolbox.names.length > 0 ? { tools: toolbox.describe() } : {}),
        ...(format === undefined ? {} : { responseFormat: format }),
        settings: { ...settings, ...seed },
      },
      { ...callOptions, channel, stage, signal, run, ...(label === undefined ? {} : { label }) },
    );
    return { thought, tokens: countTokens(thought.result.usage) };
  } catch (error) {
    if (channel !== "answer" && isLoomError(error, "model_output_too_large")) return { thought: undefined, tokens: 0 };
    throw error;
  }
}

function countTokens({ totalTokens, promptTokens = 0, completionTokens = 0 }: ModelUsage): number {
  const tokens = totalTokens ?? promptTokens + completionTokens;
  return Number.isFinite(tokens) ? Math.max(0, tokens) : 0;
}

/** Describes the budget that is used up, tokens or time; undefined while both remain. */
export function findSpentBudget({ search, run }: TotContext, startedAt: number, tokens: number): string | undefined {
  if (tokens >= search.maxTokens) return `its budget of ${search.maxTokens} tokens`;
  // The state of a fork has the time of the original.
  const since = Math.max(startedAt, run.work.startedAt ?? startedAt);
  if (run.now() - since >= search.maxMs) return `its time limit of ${search.maxMs} ms`;
  return undefined;
}

/** An error event that does not end the run. */
export function createWarning(message: string, stage: string, code: ErrorCode = "model_output_invalid"): ErrorEvent {
  return { type: "error", message, code, stage, recoverable: true };
}

/** Calls closed per batch; thousands may be open, and the log has a backlog limit. */
const MAX_CLOSED = 100;

/** Closes tool calls that will not run. Those whose node run has ended are ended by this one. */
export async function closeCalls(
  { run }: TotContext,
  { nodeId }: Pick<NodeRun, "nodeId">,
  ids: readonly string[],
  reason: string,
): Promise<void> {
  for (let from = 0; from < ids.length; from += MAX_CLOSED) {
    await run.ready();
    run.closeCalls(ids.slice(from, from + MAX_CLOSED), { reason, nodeId });
  }
}
