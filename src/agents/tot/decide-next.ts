/**
 * The nodes `observe` and `backtrack`: decide whether the search continues, backtracks or ends, without calling the
 * model.
 *
 * Invariant: the search continues only with a thought to continue and with every budget left. The answer is made from
 * the thought last reported as chosen.
 * Scores are sent once: a backtrack only names the thoughts that the search goes on with.
 */
import type { NodeContext } from "../../graph/index.ts";
import type { ErrorEvent, TotBacktrackEvent } from "../../protocol/events.generated.ts";
import { findSpentBudget, type TotContext } from "./tot-context.ts";
import type { SearchOutcome } from "./prompts.ts";
import {
  findParent,
  findPosition,
  findUntried,
  type ThoughtJudgement,
  listPath,
  listSpares,
  measureDepth,
  ROOT,
  scoreOf,
  type TotState,
} from "./tot-state.ts";

type SearchDecision = { readonly outcome?: SearchOutcome; readonly isBack?: boolean };

/** Maximum branches reported in one append. */
const MAX_NAMED = 5000;

export function decideNext(context: TotContext, state: TotState, node: NodeContext): SearchDecision {
  const { search } = context;
  const { frontier, best, backtracks, made, solved, startedAt, tokens, isShort, isUnread } = state;
  const end = (outcome: SearchOutcome, spent?: string): SearchDecision => {
    if (spent !== undefined) node.emitWithResult(describeSpent(spent));
    reportEnd(context, state, node, outcome, spent === undefined);
    return { outcome };
  };
  if (solved !== null) return end("solved");
  const isUsedUp = made >= search.maxThoughts;
  const spent = isUsedUp ? `its limit of ${search.maxThoughts} thoughts` : findSpentBudget(context, startedAt, tokens);
  const isDeep = frontier[0] !== undefined && measureDepth(frontier[0]) >= search.maxDepth;
  // The best thought of the last level is the result of a breadth search. In a depth search, it is one more failure.
  if (isDeep && search.strategy === "breadth") return end("unsolved", isShort ? spent : undefined);
  if (!isDeep && frontier.length > 0) return spent === undefined ? { isBack: false } : end("unsolved", spent);
  if (canGoBack(context, state)) {
    if (spent !== undefined) return end("unsolved", spent);
    if (backtracks < search.maxBacktracks) return { isBack: true };
    // With `maxBacktracks: 0`, this is expected.
    return end("unsolved", backtracks === 0 ? undefined : `its limit of ${search.maxBacktracks} backtracks`);
  }
  // Thoughts were left out, not rated or not read, so no branch is known to be dead.
  if (isShort) return end("unsolved", spent ?? `its limit of ${search.maxThoughts} thoughts`);
  if (isUnread) return end("unsolved");
  return end(best !== null && measureDepth(best) >= search.maxDepth ? "unsolved" : "dead");
}

/** The thought that the answer is made from; null if there is none. */
export function findFinalThought({ search }: TotContext, state: TotState, outcome: SearchOutcome): string | null {
  const { solved, frontier, best } = state;
  if (solved !== null) return solved;
  if (outcome === "dead") return null;
  // In a depth search, the current thought may be worse than an earlier one.
  const [first] = frontier;
  if (search.strategy === "depth" || first === undefined) return best;
  return best === null || measureDepth(first) >= measureDepth(best) ? first : best;
}

/** Reports the abandoned branches, and the thought that is answered with if it is not the last one chosen. */
function reportEnd(
  context: TotContext,
  state: TotState,
  node: NodeContext,
  outcome: SearchOutcome,
  isOver: boolean,
): void {
  const { chosen } = state;
  const end = findFinalThought(context, state, outcome);
  if (outcome === "dead") {
    const { ids } = popEnded(state, 0);
    const left = [...ids, ...listActive(context, state)];
    reportBacktracks(node, left, (from) => ({ ...explain(state, from), to_depth: 0 }), []);
    return;
  }
  if (end === null || end === chosen) return;
  const from = findPosition(state);
  if (isOver && context.search.strategy === "depth" && !canGoBack(context, state))
    reportAbandoned(context, state, node, from, end);
  // Keeps the ancestors too, because they may have been abandoned before.
  const to = { to_depth: measureDepth(end), to: end, kept: listPath(end) };
  node.emitWithResult({ type: "tot_backtrack", ...REASONS.bestSoFar, from, ...to });
}

/** Reports the abandoned branches. The last event names the thoughts that the search goes on with. */
function reportBacktracks(
  node: NodeContext,
  left: readonly string[],
  describe: (from: string) => Omit<TotBacktrackEvent, "type">,
  kept: readonly string[],
): void {
  const named = left.slice(0, MAX_NAMED);
  for (const [index, from] of named.entries())
    node.emitWithResult({
      type: "tot_backtrack",
      ...describe(from),
      from,
      ...(index === named.length - 1 ? { kept } : {}),
    });
}

/** Reports that the last branch was a dead end, up to its common ancestor with the final thought. */
function reportAbandoned({ search }: TotContext, state: TotState, node: NodeContext, from: string, end: string): void {
  const path = new Set(listPath(end));
  const to = listPath(from).findLast((id) => path.has(id));
  node.emitWithResult({
    type: "tot_backtrack",
    ...explainLeaf(search.maxDepth, state, from),
    to_depth: to === undefined ? 0 : measureDepth(to),
    from,
    ...(to === undefined ? {} : { to }),
  });
}

/** Thoughts that the search was continuing from. */
function listActive({ search }: TotContext, state: TotState): readonly string[] {
  const going = search.strategy === "depth" ? [findPosition(state)] : state.parents;
  return going.filter((id) => id !== ROOT);
}

/** Removes the dead thoughts of this depth and deeper. Returns their IDs and the key of the level that remains. */
function popEnded({ ended, lastEnded }: TotState, depth: number) {
  const ids: string[] = [];
  let at = lastEnded;
  for (let level = at === null ? undefined : ended[at]; level !== undefined;) {
    if (measureDepth(level.ids[0] ?? ROOT) < depth) break;
    ids.push(...level.ids);
    at = level.below;
    level = at === null ? undefined : ended[at];
  }
  return { ids, lastEnded: at };
}

function canGoBack({ search }: TotContext, state: TotState): boolean {
  return search.strategy === "depth" ? findUntried(state) !== undefined : state.top !== null;
}

function describeSpent(what: string): ErrorEvent {
  return {
    type: "error",
    message: `The search reached ${what} and answers with the best thought so far`,
    code: "budget_spent",
    stage: "iteration_limit",
    recoverable: true,
  };
}

/** Backtracks: reports the abandoned thoughts and those that the search goes on with. */
export function goBack(context: TotContext, state: TotState, node: NodeContext) {
  const isDepth = context.search.strategy === "depth";
  return isDepth ? goBackToUntried(context, state, node) : goBackToSpares(context, state, node);
}

function goBackToUntried({ search }: TotContext, state: TotState, node: NodeContext) {
  const to = findUntried(state) ?? findPosition(state);
  const from = findPosition(state);
  const reason = explainLeaf(search.maxDepth, state, from);
  node.emitWithResult({ type: "tot_backtrack", ...reason, to_depth: measureDepth(to), from, to, kept: [to] });
  return continueWith(state, [to]);
}

function goBackToSpares({ search }: TotContext, state: TotState, node: NodeContext) {
  const { top, levels, parents, backtracks } = state;
  const level = top === null ? undefined : levels[top];
  const spares = listSpares(state);
  const frontier = spares.slice(0, search.beam);
  const [to = ""] = frontier;
  const depth = measureDepth(to);
  const { ids, lastEnded: below } = popEnded(state, depth);
  const left = [...ids, ...parents];
  // Every active branch is abandoned and reported.
  reportBacktracks(node, left, (from) => ({ ...explain(state, from), to_depth: depth, to }), frontier);
  // The level directly above is dead too, except for parents of spares.
  const above = new Set(left.flatMap((id) => listPath(id)[depth - 2] ?? []));
  for (const id of spares) above.delete(findParent(id));
  const round = `back ${backtracks}`;
  const isUsedUp = frontier.length === spares.length;
  return {
    ...continueWith(state, frontier),
    ...(above.size > 0 ? { ended: { [round]: { ids: [...above], below } } } : {}),
    lastEnded: above.size > 0 ? round : below,
    ...(isUsedUp ? { top: level?.below ?? null } : {}),
  };
}

/** Why a branch was abandoned. Pages translate the code. */
const REASONS = {
  maxDepth: { reason: "the maximum depth is reached without an answer", code: "max_depth" },
  noNextStep: { reason: "no next step was found", code: "no_next_step" },
  deadEnd: { reason: "every next step is a dead end", code: "dead_end" },
  bestSoFar: { reason: "the answer uses the best thought so far", code: "best_so_far" },
} as const;

type BacktrackReason = (typeof REASONS)[keyof typeof REASONS];

function explainLeaf(maxDepth: number, state: TotState, from: string): BacktrackReason {
  return measureDepth(from) >= maxDepth ? REASONS.maxDepth : explain(state, from);
}

function explain({ children }: TotState, from: string): BacktrackReason {
  return (children[from] ?? 0) === 0 ? REASONS.noNextStep : REASONS.deadEnd;
}

function continueWith(state: TotState, frontier: readonly string[]) {
  const judged: { [id: string]: ThoughtJudgement } = {};
  for (const id of frontier) judged[id] = { score: scoreOf(state, id), standing: "kept" };
  return { frontier, judged, chosen: frontier[0] ?? null, backtracks: state.backtracks + 1, isBack: false };
}
