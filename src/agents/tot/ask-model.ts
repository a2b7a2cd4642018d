/**
 * One question of the search to the model, and what of its answer the search needs. It knows no tree.
 */
import type { NodeRun } from "../../engine/index.ts";
import type { ModelMessage, ModelUsage } from "../../models/model.ts";
import { type ErrorCode, type ErrorEvent, isLoomError } from "../../protocol/index.ts";
import type { AgentContext } from "../agent-kind.ts";
import { think, type Thought } from "../think.ts";
import type { TotSettings } from "./tot-settings.ts";

export interface TotContext extends AgentContext {
  readonly search: TotSettings;
  /** The node run that answers. */
  answerNodeId: string | undefined;
}

export interface AskOptions {
  readonly span: NodeRun;
  readonly signal: AbortSignal;
  readonly label?: string;
  readonly channel?: "answer" | "thought";
  readonly withTools?: boolean;
  /** Calls that ask the same differ in this, where the model honours it. */
  readonly sample?: number;
}

export interface Asked {
  /** Undefined where the model said more than may be said. */
  readonly thought: Thought | undefined;
  readonly tokens: number;
}

export async function askModel(
  context: TotContext,
  messages: readonly ModelMessage[],
  { span, signal, label, channel = "thought", withTools = false, sample }: AskOptions,
): Promise<Asked> {
  const { model, toolbox, settings, callOptions, stage, run } = context;
  const seed = sample === undefined ? {} : { seed: (settings.seed ?? 0) + sample };
  try {
    const thought = await think(
      span,
      model,
      {
        messages,
        ...(withTools && toolbox.names.length > 0 ? { tools: toolbox.describe() } : {}),
        settings: { ...settings, ...seed },
      },
      { ...callOptions, channel, stage, signal, run, ...(label === undefined ? {} : { label }) },
    );
    return { thought, tokens: countTokens(thought.result.usage) };
  } catch (error) {
    if (channel === "thought" && isLoomError(error, "model_output_too_large")) return { thought: undefined, tokens: 0 };
    throw error;
  }
}

function countTokens({ totalTokens, promptTokens = 0, completionTokens = 0 }: ModelUsage): number {
  const tokens = totalTokens ?? promptTokens + completionTokens;
  return Number.isFinite(tokens) ? Math.max(0, tokens) : 0;
}

/** Tokens or time that are used up, in words; undefined while there is something left of both. */
export function findSpent({ search, run }: TotContext, startedAt: number, tokens: number): string | undefined {
  if (tokens >= search.maxTokens) return `its ${search.maxTokens} tokens`;
  if (run.now() - startedAt >= search.maxMs) return `its ${search.maxMs} ms`;
  return undefined;
}

/** What was wrong with answers of a model, all of one node run together. */
export function describeFault(message: string, stage: string, code: ErrorCode = "model_output_invalid"): ErrorEvent {
  return { type: "error", message, code, stage, recoverable: true };
}

/** Calls that are ended at once: thousands may be open, and the log takes only so much. */
const MAX_CLOSED = 100;

/** Ends calls of tools that nobody will carry out. */
export async function closeCalls({ run }: TotContext, ids: readonly string[], reason: string): Promise<void> {
  for (let from = 0; from < ids.length; from += MAX_CLOSED) {
    await run.ready();
    run.closeCalls(ids.slice(from, from + MAX_CLOSED), { reason });
  }
}
