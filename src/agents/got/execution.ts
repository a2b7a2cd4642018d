/**
 * What the thoughts of one graph share while it is carried out: the limits, the places, the results so far. And how any of
 * them asks the model: on the channel `thought`, within the span it is given.
 */
import type { NodeContext, Part } from "../../graph/index.ts";
import type { ModelMessage, ModelRequest } from "../../models/model.ts";
import { type ErrorCode, type ErrorEvent, isLoomError } from "../../protocol/index.ts";
import type { AgentContext } from "../agent-kind.ts";
import { think, type Thought } from "../think.ts";
import { fitTexts } from "./fit-texts.ts";
import type { Lost } from "./lost.ts";
import { type Plan, type PlanNode, summarise } from "./plan.ts";
import type { Known } from "./prompts.ts";
import type { Scheduler } from "./scheduler.ts";

/** All that was given as an option, or its default. */
export interface GotLimits {
  readonly adaptive: boolean;
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
  /** The node run that carries out the graph. */
  readonly node: Part & Pick<NodeContext, "signal" | "ready" | "endedCalls">;
  readonly scheduler: Scheduler;
  /** Results by the id of their node, here and in expansions. */
  readonly results: Map<string, string>;
  /** What is missing because of a node, itself or inside of it, by its id; nothing where there is no entry. */
  readonly lost: Map<string, Lost>;
  /** What nodes have become, by their ids: remembered or new. */
  readonly expansions: Map<string, Plan>;
  /** Why the first node failed. */
  firstFault: string | undefined;
  /** Nodes that were planned so far, those of expansions included. */
  total: number;
}

/** Characters of the results a prompt shows: more than any node can use. */
const MAX_KNOWN_CHARACTERS = 200_000;

/** What a node that needs these is shown of them. */
export function listKnown(nodes: readonly PlanNode[], results: ReadonlyMap<string, string>): readonly Known[] {
  return nodes.map(({ id, task }) => ({ id, task: summarise(task), text: results.get(id) ?? "" }));
}

export function fitKnown(known: readonly Known[]): readonly Known[] {
  const texts = known.map(({ text }) => text);
  const fitted = fitTexts(texts, MAX_KNOWN_CHARACTERS);
  return fitted === texts ? known : known.map((one, index) => ({ ...one, text: fitted[index] ?? "" }));
}

/** One call of the model. Its name tells calls of one span apart. */
export function askModel(
  { model, settings, callOptions, stage, run, limits }: GotContext,
  signal: AbortSignal,
  span: Part["span"],
  label: string,
  messages: readonly ModelMessage[],
  tools: Pick<ModelRequest, "tools" | "toolChoice"> = {},
): Promise<Thought> {
  const { maxOutputCharacters = Infinity } = callOptions;
  return think(
    span,
    model,
    { messages, ...tools, settings },
    {
      ...callOptions,
      // What it says is kept in one record.
      maxOutputCharacters: Math.min(maxOutputCharacters, limits.maxCharacters),
      stage,
      signal,
      run,
      label,
      channel: "thought",
    },
  );
}

/** Characters of an answer that the model is shown again, where it has not the form it was asked for. */
const MAX_SHOWN_AGAIN = 20_000;

/** An answer that has a form: what was said, and what is wrong with it, undefined where nothing is so far. */
export interface Formed {
  readonly text: string;
  readonly fault: string | undefined;
  /** As much of it as the model is shown again. */
  readonly said: string;
}

/** Asks for an answer that has a form. One that is too long to be looked at has not, and is no failure. */
export async function askForForm(...asked: Parameters<typeof askModel>): Promise<Formed> {
  try {
    const { text } = (await askModel(...asked)).result;
    return { text, fault: undefined, said: text.slice(-MAX_SHOWN_AGAIN).toWellFormed() };
  } catch (error) {
    if (!isLoomError(error, "model_output_too_large")) throw error;
    return { text: "", fault: "it is far too long", said: "(far too long)" };
  }
}

/** Something went wrong that the graph goes on without. */
export function createComplaint(code: ErrorCode, message: string, stage: string): ErrorEvent {
  return { type: "error", message, code, stage, recoverable: true };
}
