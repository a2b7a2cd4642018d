/**
 * Shared state of the thoughts of one graph: limits, scheduler and results. Also the model calls of a thought, on the
 * channel `thought` and within its span.
 */
import type { NodeContext } from "../../graph/index.ts";
import type { PartContext } from "../../graph/graph.ts";
import type { ModelMessage, ModelRequest } from "../../models/model.ts";
import { type ErrorCode, isLoomError } from "../../protocol/index.ts";
import type { ErrorEvent, GotNodeCompleteEvent } from "../../protocol/events.generated.ts";
import type { AgentContext } from "../agent-kind.ts";
import { think, type ThinkResult } from "../think.ts";
import { fitTexts } from "./fit-texts.ts";
import type { MissingNodes } from "./missing-nodes.ts";
import { type Plan, type PlanNode, toLabel } from "./plan.ts";
import type { KnownResult } from "./prompts.ts";
import type { Scheduler } from "./scheduler.ts";

/** The options with their defaults. */
export interface GotLimits {
  readonly adaptive: boolean;
  readonly branches: number;
  readonly keepBest: number;
  readonly improvements: number;
  readonly goodScore: number;
  readonly maxLayers: number;
  readonly maxNodes: number;
  readonly maxTotalNodes: number;
  readonly maxDepth: number;
  readonly concurrency: number;
  readonly attempts: number;
  readonly retryMs: number;
  readonly maxIterations: number;
  readonly maxCharacters: number;
}

export interface GotContext extends AgentContext {
  readonly limits: GotLimits;
}

export interface Execution {
  readonly context: GotContext;
  /** The node run that executes the graph. */
  readonly node: PartContext & Pick<NodeContext, "signal" | "ready" | "endedCalls">;
  readonly scheduler: Scheduler;
  /** Results by node ID, expansions included. */
  readonly results: Map<string, string>;
  /** The best score of each node that scored results. */
  readonly scores: Map<string, number>;
  /** All nodes that were run, by ID. */
  readonly planned: Map<string, PlanNode>;
  /** Nodes without a result, by the ID of the node they belong to: itself and nodes inside it. */
  readonly missing: Map<string, MissingNodes>;
  /** Expansions by node ID, remembered or new. */
  readonly expansions: Map<string, Plan>;
  /** Why the first failed node failed. */
  firstFault: string | undefined;
  /** Number of nodes planned so far, expansions included. */
  total: number;
}

/** The text of a thought and further fields of its event. */
export type ThoughtOutcome = { readonly text: string; readonly score?: number } & Partial<
  Pick<GotNodeCompleteEvent, "result_summary" | "scored" | "scores">
>;

/** Maximum characters of known results in a prompt. */
const MAX_KNOWN_CHARACTERS = 200_000;

/** The results of these nodes, for the prompt of a node that needs them. */
export function listKnownResults(
  nodes: readonly PlanNode[],
  results: ReadonlyMap<string, string>,
): readonly KnownResult[] {
  return nodes.map(({ id, task }) => ({ id, task: toLabel(task), text: results.get(id) ?? "" }));
}

export function fitKnownResults(known: readonly KnownResult[]): readonly KnownResult[] {
  const texts = known.map(({ text }) => text);
  const fitted = fitTexts(texts, MAX_KNOWN_CHARACTERS);
  return fitted === texts ? known : known.map((one, index) => ({ ...one, text: fitted[index] ?? "" }));
}

export interface GotCallOptions extends Pick<ModelRequest, "tools" | "toolChoice" | "responseFormat"> {
  readonly channel?: "thought" | "judgement";
  readonly isJson?: boolean;
}

/** Calls the model once. `label` distinguishes the calls of one span. */
export function askModel(
  { model, settings, callOptions, stage, run, limits }: GotContext,
  signal: AbortSignal,
  span: PartContext["span"],
  label: string,
  messages: readonly ModelMessage[],
  { channel = "thought", isJson = false, ...further }: GotCallOptions = {},
): Promise<ThinkResult> {
  const { maxOutputCharacters = Infinity } = callOptions;
  return think(
    span,
    model,
    { messages, ...further, settings },
    {
      ...callOptions,
      // The output is stored in one record.
      maxOutputCharacters: Math.min(maxOutputCharacters, limits.maxCharacters),
      stage,
      signal,
      run,
      label,
      channel,
      isJson,
    },
  );
}

/** Maximum characters of an invalid answer that are shown to the model again. */
const MAX_SHOWN_AGAIN = 20_000;

/** An answer that should contain JSON. `fault` is set if it is already known to be unusable. */
export interface JsonReply {
  readonly text: string;
  readonly fault: string | undefined;
  /** The end of the answer, to show to the model again. */
  readonly said: string;
}

/** Requests an answer with JSON. An oversized answer is returned as a fault instead of an error. */
export async function askForJson(...asked: Parameters<typeof askModel>): Promise<JsonReply> {
  try {
    const { text } = (await askModel(...asked)).result;
    return { text, fault: undefined, said: text.slice(-MAX_SHOWN_AGAIN).toWellFormed() };
  } catch (error) {
    if (!isLoomError(error, "model_output_too_large")) throw error;
    return { text: "", fault: "it is too long", said: "(too long)" };
  }
}

/** An error event that does not end the run. */
export function createWarning(code: ErrorCode, message: string, stage: string): ErrorEvent {
  return { type: "error", message, code, stage, recoverable: true };
}
