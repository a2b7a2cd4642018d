/**
 * Graph of Thoughts: the model plans a graph of tasks, those that are ready are worked on side by side, each with the
 * results it needs, and the answer is made of the last ones. Adaptive, a task that proves complex becomes a graph itself.
 * Here is what it can be told.
 */
import { LoomError } from "../../protocol/index.ts";
import type { AgentKind } from "../agent-kind.ts";
import type { GotContext, GotLimits } from "./execution.ts";
import { createGotGraph } from "./got-graph.ts";
import { MAX_PLAN_NODES } from "./read-plan.ts";

export interface GotOptions {
  /** A task that the model judges complex is planned as a graph of its own. */
  readonly adaptive?: boolean;
  /** Nodes of one plan. A plan with more is refused. */
  readonly maxNodes?: number;
  /** Nodes of the run, those of expansions included: past it nothing is expanded. */
  readonly maxTotalNodes?: number;
  /** Expansions one within the other. */
  readonly maxDepth?: number;
  /** Nodes that are worked on at once. */
  readonly concurrency?: number;
  /** Tries of a node, the first included. */
  readonly attempts?: number;
  /** Before the second try; each pause is twice the one before, up to ten minutes. */
  readonly retryMs?: number;
  /** Rounds in which a node may use tools. Code `iteration_limit`. */
  readonly maxIterations?: number;
  /** What the model may say in one call before the answer, reasoning included. Code `model_output_too_large`. */
  readonly maxCharacters?: number;
}

type Numbers = { -readonly [K in Exclude<keyof GotLimits, "adaptive">]: number };

const DEFAULTS: Readonly<Numbers> = {
  maxNodes: 50,
  maxTotalNodes: 200,
  maxDepth: 2,
  concurrency: 8,
  attempts: 2,
  retryMs: 500,
  maxIterations: 10,
  maxCharacters: 150_000,
};

/** What each may be. Plans and thoughts are kept in one record each, and that may have 1 MiB; ids grow with the depth. */
const RANGES: { readonly [K in keyof Numbers]: readonly [from: number, to: number] } = {
  maxNodes: [1, MAX_PLAN_NODES],
  maxTotalNodes: [1, 10_000],
  maxDepth: [0, 5],
  concurrency: [1, 1000],
  attempts: [1, 100],
  retryMs: [0, 60_000],
  maxIterations: [0, 1000],
  maxCharacters: [1, 150_000],
};

export function createGot(options: GotOptions): AgentKind {
  const limits = readLimits(options);
  return {
    name: "got",
    async answer(agentContext) {
      const context: GotContext = { ...agentContext, limits };
      await context.carryOut(createGotGraph(context), {});
      return {};
    },
  };
}

function readLimits(options: GotOptions): GotLimits {
  const numbers: Numbers = { ...DEFAULTS };
  for (const name of Object.keys(DEFAULTS) as (keyof Numbers)[]) {
    const given = options[name];
    if (given === undefined) continue;
    const [from, to] = RANGES[name];
    if (!Number.isSafeInteger(given) || given < from || given > to)
      throw new LoomError("graph_invalid", `\`${name}\` must be a whole number from ${from} to ${to}, not ${given}`);
    numbers[name] = given;
  }
  const { adaptive = false } = options;
  if (typeof adaptive !== "boolean") throw new LoomError("graph_invalid", "`adaptive` must be true or false");
  return { ...numbers, adaptive };
}
