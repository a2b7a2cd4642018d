/**
 * The nodes `observe` and `backtrack`: whether the search goes on, goes back or is over, and where it goes back to. They
 * ask no model.
 *
 * Invariant: a search goes on only where there is something to go on with and something left of every budget. Whatever it
 * ends with, the thought that was told last to be chosen is the one that is answered with.
 */
import type { NodeContext } from "../../graph/index.ts";
import type { ErrorEvent } from "../../protocol/index.ts";
import { findSpent, type TotContext } from "./ask-model.ts";
import type { Outcome } from "./prompts.ts";
import {
  findParent,
  findPosition,
  findUntried,
  type Judgement,
  listChildren,
  listPath,
  listSpares,
  measureDepth,
  ROOT,
  scoreOf,
  type TotState,
} from "./tot-state.ts";

type Decision = { readonly outcome?: Outcome; readonly isBack?: boolean };

/** Branches that are named in one append. */
const MAX_NAMED = 5000;

export function decideNext(context: TotContext, state: TotState, node: NodeContext): Decision {
  const { search } = context;
  const { frontier, best, backtracks, made, solved, startedAt, tokens, isShort } = state;
  const end = (outcome: Outcome, spent?: string): Decision => {
    if (spent !== undefined) node.conclude(describeSpent(spent));
    tellEnd(context, state, node, outcome, spent === undefined);
    return { outcome };
  };
  if (solved !== null) return end("solved");
  const isUsedUp = made >= search.maxThoughts;
  const spent = isUsedUp ? `its ${search.maxThoughts} thoughts` : findSpent(context, startedAt, tokens);
  const isDeep = frontier[0] !== undefined && measureDepth(frontier[0]) >= search.maxDepth;
  // The best of the last level is what a search in breadth is for. In depth it is one more that did not answer.
  if (isDeep && search.strategy === "breadth") return end("unsolved", isShort ? spent : undefined);
  if (!isDeep && frontier.length > 0) return spent === undefined ? { isBack: false } : end("unsolved", spent);
  if (canGoBack(context, state)) {
    if (spent !== undefined) return end("unsolved", spent);
    if (backtracks < search.maxBacktracks) return { isBack: true };
    // Who allows none knows that there is none.
    return end("unsolved", backtracks === 0 ? undefined : `its ${search.maxBacktracks} ways back`);
  }
  // Thoughts were left out or not judged: no branch is known to be dead.
  if (isShort) return end("unsolved", spent ?? `its ${search.maxThoughts} thoughts`);
  return end(best !== null && measureDepth(best) >= search.maxDepth ? "unsolved" : "dead");
}

/** The thought that is answered with; null where there is none. */
export function findEnd({ search }: TotContext, state: TotState, outcome: Outcome): string | null {
  const { solved, frontier, best } = state;
  if (solved !== null) return solved;
  if (outcome === "dead") return null;
  // In depth what goes on may be worse than what was left.
  const [first] = frontier;
  if (search.strategy === "depth" || first === undefined) return best;
  return best === null || measureDepth(first) >= measureDepth(best) ? first : best;
}

/** Names what is given up in the end, and the thought that is answered with, where it was not the last one chosen. */
function tellEnd(context: TotContext, state: TotState, node: NodeContext, outcome: Outcome, isOver: boolean): void {
  const { chosen } = state;
  const end = findEnd(context, state, outcome);
  if (outcome === "dead") {
    const { ids } = popEnded(state, 0);
    for (const from of [...ids, ...listGoing(context, state)].slice(0, MAX_NAMED))
      node.conclude({ type: "tot_backtrack", reason: explain(state, from), to_depth: 0, from });
    if (chosen !== null) announce(state, node, [chosen], chosen, []);
    return;
  }
  if (end === null || end === chosen) return;
  const from = findPosition(state);
  if (isOver && context.search.strategy === "depth" && !canGoBack(context, state))
    leaveFor(context, state, node, from, end);
  // With all that lead to it: they may have been given up before.
  const path = listPath(end);
  node.conclude({
    type: "tot_evaluate",
    chosen: path.length - 1,
    scores: path.map((id) => scoreOf(state, id)),
    ids: path,
    kept: path,
  });
}

/** The last branch was a dead end too, up to where it parts from the one that is taken up again. */
function leaveFor({ search }: TotContext, state: TotState, node: NodeContext, from: string, end: string): void {
  const path = new Set(listPath(end));
  const to = listPath(from).findLast((id) => path.has(id));
  const reason = explainLeaf(search.maxDepth, state, from);
  node.conclude({
    type: "tot_backtrack",
    reason,
    to_depth: to === undefined ? 0 : measureDepth(to),
    from,
    ...(to === undefined ? {} : { to }),
  });
}

/** Thoughts that the search was going on from. */
function listGoing({ search }: TotContext, state: TotState): readonly string[] {
  const going = search.strategy === "depth" ? [findPosition(state)] : state.parents;
  return going.filter((id) => id !== ROOT);
}

/** Thoughts of this depth and deeper that nothing goes on from, and the latest level of those that are left. */
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
    message: `the search has used ${what}; it answers with the best it has found`,
    code: "budget_spent",
    stage: "iteration_limit",
    recoverable: true,
  };
}

/** Goes back to thoughts that were left, says which are given up, and gives the scores of their level anew. */
export function goBack(context: TotContext, state: TotState, node: NodeContext) {
  const isDepth = context.search.strategy === "depth";
  return isDepth ? goBackToUntried(context, state, node) : goBackToSpares(context, state, node);
}

function goBackToUntried({ search }: TotContext, state: TotState, node: NodeContext) {
  const to = findUntried(state) ?? findPosition(state);
  const from = findPosition(state);
  const reason = explainLeaf(search.maxDepth, state, from);
  node.conclude({ type: "tot_backtrack", reason, to_depth: measureDepth(to), from, to });
  const siblings = listChildren(state, findParent(to));
  const kept = siblings.filter((id) => id === to || state.judged[id]?.standing === "open");
  announce(state, node, siblings, to, kept);
  return goOnWith(state, [to]);
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
  // Each branch that was going is given up, and named.
  for (const from of left.slice(0, MAX_NAMED))
    node.conclude({ type: "tot_backtrack", reason: explain(state, from), to_depth: depth, from, to });
  announce(state, node, level?.ids ?? frontier, to, frontier);
  // From what is right above nothing goes on any more, unless it has a spare.
  const above = new Set(left.flatMap((id) => listPath(id)[depth - 2] ?? []));
  for (const id of spares) above.delete(findParent(id));
  const round = `back ${backtracks}`;
  const isUsedUp = frontier.length === spares.length;
  return {
    ...goOnWith(state, frontier),
    ...(above.size > 0 ? { ended: { [round]: { ids: [...above], below } } } : {}),
    lastEnded: above.size > 0 ? round : below,
    ...(isUsedUp ? { top: level?.below ?? null } : {}),
  };
}

function explainLeaf(maxDepth: number, state: TotState, from: string): string {
  if (measureDepth(from) >= maxDepth) return "the steps are used up and the question is not answered";
  return explain(state, from);
}

function explain({ children }: TotState, from: string): string {
  return (children[from] ?? 0) === 0 ? "no next step was found" : "every next step is a dead end";
}

/** The scores of a level, which of it is chosen, and what of it is kept. */
function announce(
  state: TotState,
  node: NodeContext,
  ids: readonly string[],
  chosen: string,
  kept: readonly string[],
): void {
  node.conclude({
    type: "tot_evaluate",
    chosen: ids.indexOf(chosen),
    scores: ids.map((id) => scoreOf(state, id)),
    ids,
    kept,
    depth: measureDepth(chosen),
  });
}

function goOnWith(state: TotState, frontier: readonly string[]) {
  const judged: { [id: string]: Judgement } = {};
  for (const id of frontier) judged[id] = { score: scoreOf(state, id), standing: "kept" };
  return { frontier, judged, chosen: frontier[0] ?? null, backtracks: state.backtracks + 1, isBack: false };
}
