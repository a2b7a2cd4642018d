/** Options of a tree search: their declaration, validation and defaults. */
import { LoomError } from "../../protocol/index.ts";
import {
  acceptInteger,
  acceptNumber,
  acceptNumberAbove,
  acceptOneOf,
  type OptionTable,
  readOptions,
} from "../../protocol/read-options.ts";

/** Options of the kind `tot`. */
export interface TotOptions {
  /**
   * `breadth` continues with the best `beam` thoughts of each level. `depth` continues with the best thought, and
   * backtracks to the next best if none reaches `threshold`. Default: `breadth`.
   */
  readonly strategy?: "breadth" | "depth";
  /** Thoughts per level that are continued; only for `breadth`. Default: 5. */
  readonly beam?: number;
  /**
   * Lowest value of a promising thought, from 0 to 1; others are dead ends. A value of 0 is always a dead end. Only for
   * `evaluate: "value"`. Default: 0.05 for `breadth`, 0.3 for `depth`.
   */
  readonly threshold?: number;
  /** `propose` lists all candidates in one call. `sample` makes one call per candidate. Default: `propose`. */
  readonly generate?: "propose" | "sample";
  /** Maximum candidates per thought. Default: 16 for `propose`, 5 for `sample`. */
  readonly candidates?: number;
  /**
   * `value` rates each thought separately. `vote` compares the thoughts of a level and ranks them by votes; there are
   * no dead ends. Default: `value`.
   */
  readonly evaluate?: "value" | "vote";
  /** Model calls per rating: values are averaged, votes are counted. Default: 1 for `value`, 3 for `vote`. */
  readonly evaluations?: number;
  /** Maximum depth of the tree. Default: 8. */
  readonly maxDepth?: number;
  /**
   * Maximum number of backtracks; 0 turns backtracking off. When this or one of the next three limits is reached, the
   * search reports `budget_spent` and answers with the best thought so far. Default: 20.
   */
  readonly maxBacktracks?: number;
  /** Maximum thoughts of the tree. Default: 1,000. */
  readonly maxThoughts?: number;
  /** Maximum tokens of all calls, as reported by the provider. Default: 2,000,000. */
  readonly maxTokens?: number;
  /**
   * Maximum milliseconds since the start of the run, including the time users need for approvals. Running calls are not
   * interrupted. Default: 1,800,000.
   */
  readonly maxMs?: number;
  /** Maximum parallel model calls, and maximum thoughts whose tools run in parallel. Default: 8. */
  readonly concurrency?: number;
}

/** Validated options with defaults. */
export type TotSettings = Required<TotOptions>;

/** A level is written as one record of at most 1 MiB. */
const MAX_LEVEL = 2000;
/** Bytes of a record for the tree itself; the rest is for its surroundings. */
export const MAX_LEVEL_BYTES = 850_000;
/** Ids are paths and grow with the depth. */
const MAX_DEPTH = 100;
const MAX_THOUGHTS = 100_000;
const MAX_EVALUATIONS = 100;
const MAX_CONCURRENCY = 1000;

export const TOT_OPTIONS: OptionTable<TotOptions> = {
  strategy: acceptOneOf(["breadth", "depth"]),
  beam: acceptInteger(1, MAX_LEVEL),
  threshold: acceptNumber(0, 1),
  generate: acceptOneOf(["propose", "sample"]),
  candidates: acceptInteger(1, MAX_LEVEL),
  evaluate: acceptOneOf(["value", "vote"]),
  evaluations: acceptInteger(1, MAX_EVALUATIONS),
  maxDepth: acceptInteger(1, MAX_DEPTH),
  maxBacktracks: acceptInteger(0, MAX_THOUGHTS),
  maxThoughts: acceptInteger(1, MAX_THOUGHTS),
  maxTokens: acceptNumberAbove(0),
  maxMs: acceptNumberAbove(0),
  concurrency: acceptInteger(1, MAX_CONCURRENCY),
};

export function readSettings(options: TotOptions): TotSettings {
  const given = readOptions(TOT_OPTIONS, options, { isPart: true });
  const { strategy = "breadth", generate = "propose", evaluate = "value" } = given;
  const settings: TotSettings = {
    beam: 5,
    // Breadth removes hopeless thoughts; depth continues only with promising ones.
    threshold: strategy === "breadth" ? 0.05 : 0.3,
    candidates: generate === "propose" ? 16 : 5,
    evaluations: evaluate === "value" ? 1 : 3,
    maxDepth: 8,
    maxBacktracks: 20,
    maxThoughts: 1000,
    maxTokens: 2_000_000,
    maxMs: 30 * 60_000,
    concurrency: 8,
    ...given,
    strategy,
    generate,
    evaluate,
  };
  if (strategy === "breadth" && settings.beam * settings.candidates > MAX_LEVEL)
    throw invalid(`\`beam\` times \`candidates\` must be at most ${MAX_LEVEL}, so that a level fits into one record`);
  if (measureLevel(settings) > MAX_LEVEL_BYTES)
    throw invalid("The ids of a level do not fit into one record; use a smaller `candidates` or `maxDepth`");
  return settings;
}

/**
 * Bytes written when a level was rated: each ID appears twice, with its score, and the IDs to continue with three more
 * times.
 */
function measureLevel({ strategy, beam, candidates, maxDepth }: TotSettings): number {
  const parents = strategy === "breadth" ? beam : 1;
  const idBytes = maxDepth * (String(candidates).length + 1);
  return parents * candidates * (2 * idBytes + 80) + parents * 3 * (idBytes + 3);
}

function invalid(message: string): LoomError {
  return new LoomError("invalid_arguments", message);
}
