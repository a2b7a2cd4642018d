/** Options of a graph of thoughts: their declaration, ranges and defaults. */
import { ruleOfSetting, STRATEGY_SETTINGS } from "../../protocol/strategy-settings.ts";
import { MAX_PLAN_NODES } from "./read-plan.ts";
import {
  acceptInteger,
  acceptNumber,
  BOOLEAN_OPTION,
  type OptionsOf,
  type OptionTable,
  withDefault,
} from "../../protocol/read-options.ts";

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

const { candidates, depth, layers } = STRATEGY_SETTINGS;

/** Allowed values. A plan or a thought must fit into one record of 1 MiB, and IDs grow with the depth. */
export const GOT_OPTIONS = {
  adaptive: withDefault(BOOLEAN_OPTION, false),
  branches: withDefault<number>(ruleOfSetting(candidates.uses.got), candidates.uses.got.defaultValue),
  keepBest: withDefault(acceptInteger(1, 20), 1),
  improvements: withDefault(acceptInteger(0, 20), 0),
  goodScore: withDefault(acceptNumber(0, 1), 0.8),
  maxLayers: withDefault<number>(ruleOfSetting(layers.uses.got), layers.uses.got.defaultValue),
  maxNodes: withDefault(acceptInteger(1, MAX_PLAN_NODES), 50),
  maxTotalNodes: withDefault(acceptInteger(1, 10_000), 200),
  maxDepth: withDefault<number>(ruleOfSetting(depth.uses.agot), depth.uses.agot.defaultValue),
  concurrency: withDefault(acceptInteger(1, 1000), 8),
  attempts: withDefault(acceptInteger(1, 100), 2),
  retryMs: withDefault(acceptInteger(0, 60_000), 500),
  maxIterations: withDefault(acceptInteger(0, 1000), 10),
  maxCharacters: withDefault(acceptInteger(1, 150_000), 150_000),
} as const satisfies OptionTable<GotOptions>;

/** The options with their defaults. */
export type GotLimits = OptionsOf<typeof GOT_OPTIONS>;
