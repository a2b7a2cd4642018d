/** Options of a tree search: their declaration, validation and defaults. */
import { LoomError } from "../../protocol/index.ts";
import {
  acceptInteger,
  acceptNumberAbove,
  FUNCTION_OPTION,
  type OptionTable,
  orElse,
  readOptions,
  withDefault,
} from "../../protocol/read-options.ts";
import { ruleOfSetting, STRATEGY_SETTINGS } from "../../protocol/strategy-settings.ts";

/** A thought, for an own evaluator. */
export interface ThoughtToRate {
  /** The user's message. */
  readonly question: string;
  /** The texts from the first step to the thought itself. */
  readonly steps: readonly string[];
  /** Aborted when the run ends. */
  readonly signal: AbortSignal;
}

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
   * no dead ends. A function rates a thought without the model: it returns a number from 0 to 1, is called once per
   * thought, and a message can choose `value` or `vote` instead. Default: `value`.
   */
  readonly evaluate?: "value" | "vote" | ((thought: ThoughtToRate) => number | Promise<number>);
  /**
   * Whether a rated thought answers the question, which ends the search. It is called once per thought. Default: the model
   * says so; with a function as `evaluate`, no thought does.
   */
  readonly isSolved?: (thought: ThoughtToRate) => boolean | Promise<boolean>;
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
export type TotSettings = Required<Omit<TotOptions, "isSolved">> & Pick<TotOptions, "isSolved">;

/** A level is written as one record of at most 1 MiB. */
const MAX_LEVEL = 2000;
/** Bytes of a record for the tree itself; the rest is for its surroundings. */
export const MAX_LEVEL_BYTES = 850_000;
const MAX_THOUGHTS = 100_000;
const MAX_CONCURRENCY = 1000;

const { search, generator, evaluator, samples, threshold, beam, candidates, depth, backtracks } = STRATEGY_SETTINGS;

export const TOT_OPTIONS = {
  strategy: withDefault<"breadth" | "depth">(ruleOfSetting(search.uses.tot), search.uses.tot.defaultValue),
  beam: withDefault<number>(ruleOfSetting(beam.uses.tot), beam.uses.tot.defaultValue),
  threshold: ruleOfSetting<number>(threshold.uses.tot),
  generate: withDefault<"propose" | "sample">(ruleOfSetting(generator.uses.tot), generator.uses.tot.defaultValue),
  candidates: ruleOfSetting<number>(candidates.uses.tot),
  evaluate: withDefault<NonNullable<TotOptions["evaluate"]>>(
    orElse(ruleOfSetting<"value" | "vote">(evaluator.uses.tot), "a function", (value): value is never =>
      FUNCTION_OPTION.accepts(value),
    ),
    evaluator.uses.tot.defaultValue,
  ),
  isSolved: FUNCTION_OPTION,
  evaluations: ruleOfSetting<number>(samples.uses.tot),
  maxDepth: withDefault<number>(ruleOfSetting(depth.uses.tot), depth.uses.tot.defaultValue),
  maxBacktracks: withDefault<number>(ruleOfSetting(backtracks.uses.tot), backtracks.uses.tot.defaultValue),
  maxThoughts: withDefault(acceptInteger(1, MAX_THOUGHTS), 1000),
  maxTokens: withDefault(acceptNumberAbove(0), 2_000_000),
  maxMs: withDefault(acceptNumberAbove(0), 30 * 60_000),
  concurrency: withDefault(acceptInteger(1, MAX_CONCURRENCY), 8),
} as const satisfies OptionTable<TotOptions>;

export function readSettings(options: TotOptions): TotSettings {
  const given = readOptions(TOT_OPTIONS, options, { isPart: true });
  const { strategy, generate, evaluate } = given;
  const settings: TotSettings = {
    // Breadth removes hopeless thoughts; depth continues only with promising ones.
    threshold: strategy === "breadth" ? 0.05 : 0.3,
    candidates: generate === "propose" ? 16 : 5,
    evaluations: evaluate === "vote" ? 3 : 1,
    ...given,
    ...(typeof evaluate === "function" ? { evaluations: 1 } : {}),
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
