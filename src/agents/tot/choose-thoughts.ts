/**
 * Which of the thoughts that were judged go on, which are kept for later, and which are given up. Pure.
 *
 * Invariant: what goes on is valued as high as the threshold and above zero, or solves the question. A vote says what is
 * better, not what is hopeless: with votes nothing is a dead end, and those that have none come last.
 */
import type { Standing } from "./tot-state.ts";
import type { TotSettings } from "./tot-settings.ts";

export interface Judged {
  readonly id: string;
  readonly score: number;
  readonly isSolved: boolean;
}

export interface Choice {
  /** Index of the best: one that solves the question before any other. */
  readonly chosen: number;
  readonly solved: string | undefined;
  /** Those that go on now, best first. */
  readonly goOn: readonly string[];
  /** Those that stay in the search. */
  readonly kept: readonly string[];
  readonly standings: { readonly [id: string]: Standing };
  readonly hasSpares: boolean;
}

type ChoiceSettings = Pick<TotSettings, "strategy" | "evaluate" | "beam" | "threshold" | "maxDepth">;

export function chooseThoughts(
  judged: readonly Judged[],
  depth: number,
  { strategy, evaluate, beam, threshold, maxDepth }: ChoiceSettings,
): Choice {
  const order = judged
    .map((thought, index) => ({ ...thought, index }))
    .toSorted((a, b) => Number(b.isSolved) - Number(a.isSolved) || b.score - a.score || a.index - b.index);
  const [first] = order;
  const isGood = ({ score, isSolved }: Judged): boolean => isSolved || (score > 0 && score >= threshold);
  const good = evaluate === "vote" ? order : order.filter(isGood);
  // The last level leads nowhere: one of it is enough to answer with.
  const isLast = depth >= maxDepth;
  const isDepth = strategy === "depth";
  const width = isDepth ? (isLast ? 1 : good.length) : beam;
  const kept = good.slice(0, width).map(({ id }) => id);
  const solved = first?.isSolved === true ? first.id : undefined;
  const goOn = isDepth || solved !== undefined ? kept.slice(0, 1) : kept;
  const spares = isDepth || isLast ? [] : good.slice(width);
  const standings: { [id: string]: Standing } = {};
  for (const { id } of judged) standings[id] = "pruned";
  for (const { id } of spares) standings[id] = "spare";
  for (const id of kept) standings[id] = isDepth && id !== goOn[0] ? "open" : "kept";
  return { chosen: first?.index ?? 0, solved, goOn, kept, standings, hasSpares: spares.length > 0 };
}
