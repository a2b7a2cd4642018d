/** Options of a tree search: their declaration, validation and defaults. */
import { LoomError } from "../../protocol/index.ts";

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

export function readSettings(options: TotOptions): TotSettings {
  const { strategy = "breadth", generate = "propose", evaluate = "value" } = options;
  assertOneOf("strategy", strategy, ["breadth", "depth"]);
  assertOneOf("generate", generate, ["propose", "sample"]);
  assertOneOf("evaluate", evaluate, ["value", "vote"]);
  const settings: TotSettings = {
    strategy,
    generate,
    evaluate,
    beam: options.beam ?? 5,
    // Breadth removes hopeless thoughts; depth continues only with promising ones.
    threshold: options.threshold ?? (strategy === "breadth" ? 0.05 : 0.3),
    candidates: options.candidates ?? (generate === "propose" ? 16 : 5),
    evaluations: options.evaluations ?? (evaluate === "value" ? 1 : 3),
    maxDepth: options.maxDepth ?? 8,
    maxBacktracks: options.maxBacktracks ?? 20,
    maxThoughts: options.maxThoughts ?? 1000,
    maxTokens: options.maxTokens ?? 2_000_000,
    maxMs: options.maxMs ?? 30 * 60_000,
    concurrency: options.concurrency ?? 8,
  };
  assertWhole("beam", settings.beam, 1, MAX_LEVEL);
  assertWhole("candidates", settings.candidates, 1, MAX_LEVEL);
  assertWhole("evaluations", settings.evaluations, 1, MAX_EVALUATIONS);
  assertWhole("maxDepth", settings.maxDepth, 1, MAX_DEPTH);
  assertWhole("maxBacktracks", settings.maxBacktracks, 0, MAX_THOUGHTS);
  assertWhole("maxThoughts", settings.maxThoughts, 1, MAX_THOUGHTS);
  assertWhole("concurrency", settings.concurrency, 1, MAX_CONCURRENCY);
  assertAmount("maxTokens", settings.maxTokens);
  assertAmount("maxMs", settings.maxMs);
  const { threshold } = settings;
  if (typeof threshold !== "number" || !(threshold >= 0 && threshold <= 1))
    throw invalid(`\`threshold\` must be a number from 0 to 1, not ${String(threshold)}`);
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

function assertOneOf(name: string, value: string, known: readonly string[]): void {
  if (!known.includes(value)) throw invalid(`\`${name}\` must be ${known.join(" or ")}, not ${JSON.stringify(value)}`);
}

function assertWhole(name: string, value: number, min: number, max: number): void {
  if (!Number.isSafeInteger(value) || value < min || value > max)
    throw invalid(`\`${name}\` must be an integer from ${min} to ${max}, not ${String(value)}`);
}

/** `Infinity` means no limit. */
function assertAmount(name: string, value: number): void {
  if (typeof value !== "number" || !(value > 0))
    throw invalid(`\`${name}\` must be a number above 0, not ${String(value)}`);
}

function invalid(message: string): LoomError {
  return new LoomError("invalid_arguments", message);
}
