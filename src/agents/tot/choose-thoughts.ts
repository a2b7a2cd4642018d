/**
 * Decides which rated thoughts to continue, keep for later or prune. A pure function.
 *
 * Invariant: with `value`, a continued thought reaches the threshold and is above 0, solves the question, or has an unknown
 * rating. With
 * `vote`, nothing is a dead end; thoughts without votes come last.
 */
import type { ThoughtStatus } from "./tot-state.ts";
import type { TotSettings } from "./tot-settings.ts";

export interface JudgedThought {
  readonly id: string;
  readonly score: number;
  readonly isSolved: boolean;
  /** True if no rating could be read. The score is then neutral, and the thought is not a dead end. */
  readonly isUnknown?: boolean;
}

/** The score of a thought whose rating is unknown. */
export const NEUTRAL_SCORE = 0.5;

export interface ThoughtChoice {
  /** Index of the best thought; a solution comes before any other. */
  readonly chosen: number;
  readonly solved: string | undefined;
  /** Thoughts to continue with now, best first. */
  readonly continuing: readonly string[];
  /** Thoughts that stay in the search. */
  readonly kept: readonly string[];
  readonly statuses: { readonly [id: string]: ThoughtStatus };
  readonly hasSpares: boolean;
}

type ChoiceSettings = Pick<TotSettings, "strategy" | "evaluate" | "beam" | "threshold" | "maxDepth">;

export function chooseThoughts(
  judged: readonly JudgedThought[],
  depth: number,
  { strategy, evaluate, beam, threshold, maxDepth }: ChoiceSettings,
): ThoughtChoice {
  const order = judged
    .map((thought, index) => ({ ...thought, index }))
    .toSorted((a, b) => Number(b.isSolved) - Number(a.isSolved) || b.score - a.score || a.index - b.index);
  const [first] = order;
  const isGood = ({ score, isSolved, isUnknown = false }: JudgedThought): boolean =>
    isSolved || isUnknown || (score > 0 && score >= threshold);
  const good = evaluate === "vote" ? order : order.filter(isGood);
  // The last level has no children, so one thought is enough for the answer.
  const isLast = depth >= maxDepth;
  const isDepth = strategy === "depth";
  const width = isDepth ? (isLast ? 1 : good.length) : beam;
  const kept = good.slice(0, width).map(({ id }) => id);
  const solved = first?.isSolved === true ? first.id : undefined;
  const continuing = isDepth || solved !== undefined ? kept.slice(0, 1) : kept;
  const spares = isDepth || isLast ? [] : good.slice(width);
  const statuses: { [id: string]: ThoughtStatus } = {};
  for (const { id } of judged) statuses[id] = "pruned";
  for (const { id } of spares) statuses[id] = "spare";
  for (const id of kept) statuses[id] = isDepth && id !== continuing[0] ? "open" : "kept";
  return {
    chosen: first?.index ?? 0,
    solved,
    continuing,
    kept,
    statuses,
    hasSpares: spares.length > 0,
  };
}
