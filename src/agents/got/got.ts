/**
 * Graph of Thoughts: the model plans a graph of tasks, independent tasks run in parallel with the results they need,
 * and the answer is written from the final results. With `adaptive`, a complex task becomes a graph itself.
 */
import { LoomError } from "../../protocol/index.ts";
import type { AgentKind } from "../agent-kind.ts";
import type { GotContext, GotLimits } from "./execution.ts";
import { MAX_PLAN_NODES } from "./read-plan.ts";

/** Options of the kind `got`. */
export interface GotOptions {
  /** Lets the model expand complex tasks into subgraphs. Default: false. */
  readonly adaptive?: boolean;
  /** Results generated for each task. With more than 1, they are scored and the best are kept. Default: 1. */
  readonly branches?: number;
  /** Results that are kept after scoring. Default: 1. */
  readonly keepBest?: number;
  /** Maximum rounds in which the result of a task is improved, until its score reaches `goodScore`. Default: 0. */
  readonly improvements?: number;
  /** Score from 0 to 1 at which a result is good enough; only with `improvements`. Default: 0.8. */
  readonly goodScore?: number;
  /** Maximum layers. With more than 1, the model plans one layer, sees its results, and plans the next. Default: 1. */
  readonly maxLayers?: number;
  /** Maximum nodes of one plan; larger plans are rejected. Default: 50. */
  readonly maxNodes?: number;
  /** Maximum nodes of a run, expansions included; then nothing more is expanded. Default: 200. */
  readonly maxTotalNodes?: number;
  /** Maximum depth of nested expansions. Default: 2. */
  readonly maxDepth?: number;
  /** Maximum nodes that run at the same time. Default: 8. */
  readonly concurrency?: number;
  /** Maximum attempts per node, the first included. Default: 2. */
  readonly attempts?: number;
  /** Milliseconds before the second attempt. Each further pause is twice as long, up to 10 minutes. Default: 500. */
  readonly retryMs?: number;
  /** Maximum rounds of tool calls per node; code `iteration_limit`. Default: 10. */
  readonly maxIterations?: number;
  /**
   * Maximum characters of one model call before the answer, reasoning included; code `model_output_too_large`. Default:
   * 150,000.
   */
  readonly maxCharacters?: number;
}

type Numbers = { -readonly [K in Exclude<keyof GotLimits, "adaptive" | "goodScore">]: number };

const DEFAULTS: Readonly<Numbers> = {
  branches: 1,
  keepBest: 1,
  improvements: 0,
  maxLayers: 1,
  maxNodes: 50,
  maxTotalNodes: 200,
  maxDepth: 2,
  concurrency: 8,
  attempts: 2,
  retryMs: 500,
  maxIterations: 10,
  maxCharacters: 150_000,
};

/** Allowed values. A plan or a thought must fit into one record of 1 MiB, and IDs grow with the depth. */
const RANGES: { readonly [K in keyof Numbers]: readonly [from: number, to: number] } = {
  branches: [1, 20],
  keepBest: [1, 20],
  improvements: [0, 20],
  maxLayers: [1, 50],
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
      // Loaded for the first run, because most programs only use ReAct agents.
      const { createGotGraph } = await import("./got-graph.ts");
      await context.executeGraph(createGotGraph(context), {});
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
      throw new LoomError("invalid_arguments", `\`${name}\` must be an integer from ${from} to ${to}, not ${given}`);
    numbers[name] = given;
  }
  const { adaptive = false, goodScore = 0.8 } = options;
  if (typeof adaptive !== "boolean") throw new LoomError("invalid_arguments", "`adaptive` must be true or false");
  if (typeof goodScore !== "number" || !(goodScore >= 0 && goodScore <= 1))
    throw new LoomError("invalid_arguments", `\`goodScore\` must be a number from 0 to 1, not ${String(goodScore)}`);
  return { ...numbers, adaptive, goodScore };
}
