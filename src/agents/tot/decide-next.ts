/**
 * The nodes `observe` and `backtrack`: whether the search goes on, goes back or is over, and where it goes back to. They
 * ask no model.
 *
 * Invariant: a search goes on only where there is something to go on with and something left of every budget.
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
  listSpares,
  measureDepth,
  scoreOf,
  type TotState,
} from "./tot-state.ts";

type Decision = { readonly outcome?: Outcome; readonly isBack?: boolean };

export function decideNext(context: TotContext, state: TotState, node: NodeContext): Decision {
  const { search } = context;
  const { frontier, best, backtracks, made, solved, startedAt, tokens } = state;
  if (solved !== null) return { outcome: "solved" };
  const nothing: Outcome = frontier.length === 0 && best === null ? "dead" : "unsolved";
  // Before all else: where it was used up, thoughts were left out or not judged, and no branch is known to be dead.
  const spent =
    (made >= search.maxThoughts ? `its ${search.maxThoughts} thoughts` : undefined) ??
    findSpent(context, startedAt, tokens);
  if (spent !== undefined) return end(node, spent, nothing);
  const isDeep = frontier[0] !== undefined && measureDepth(frontier[0]) >= search.maxDepth;
  // The best of the last level is what a search in breadth is for. In depth it is one more that did not answer.
  if (isDeep && search.strategy === "breadth") return { outcome: "unsolved" };
  if (!isDeep && frontier.length > 0) return { isBack: false };
  if (!canGoBack(context, state)) {
    const isWhole = best !== null && measureDepth(best) >= search.maxDepth;
    return { outcome: isWhole ? "unsolved" : "dead" };
  }
  if (backtracks >= search.maxBacktracks) return end(node, `its ${search.maxBacktracks} ways back`, nothing);
  return { isBack: true };
}

function end(node: NodeContext, spent: string, outcome: Outcome): Decision {
  node.conclude(describeSpent(spent));
  return { outcome };
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

/** Goes back to thoughts that were left, says which are given up, and gives the scores of the level anew. */
export function goBack(context: TotContext, state: TotState, node: NodeContext) {
  const isDepth = context.search.strategy === "depth";
  return isDepth ? goBackToUntried(context, state, node) : goBackToSpares(context, state, node);
}

function goBackToUntried({ search }: TotContext, state: TotState, node: NodeContext) {
  const to = findUntried(state) ?? findPosition(state);
  const from = findPosition(state);
  const reason =
    measureDepth(from) >= search.maxDepth
      ? "the steps are used up and the question is not answered"
      : explain(state, from);
  node.conclude({ type: "tot_backtrack", reason, to_depth: measureDepth(to), from, to });
  const ids = listChildren(state, findParent(to));
  const kept = ids.filter((id) => id === to || state.judged[id]?.standing === "open");
  announce(state, node, ids, to, kept);
  return goOnWith(state, [to]);
}

function goBackToSpares({ search }: TotContext, state: TotState, node: NodeContext) {
  const { top, levels, parents } = state;
  const level = top === null ? undefined : levels[top];
  const spares = listSpares(state);
  const frontier = spares.slice(0, search.beam);
  const [to = ""] = frontier;
  // Each branch that was going is given up, and named.
  for (const from of parents)
    node.conclude({ type: "tot_backtrack", reason: explain(state, from), to_depth: measureDepth(to), from, to });
  announce(state, node, level?.ids ?? [], to, frontier);
  const isUsedUp = frontier.length === spares.length;
  return { ...goOnWith(state, frontier), ...(isUsedUp ? { top: level?.below ?? null } : {}) };
}

function explain({ children }: TotState, from: string): string {
  return (children[from] ?? 0) === 0 ? "no next step was found" : "every next step is a dead end";
}

function announce(
  state: TotState,
  node: NodeContext,
  ids: readonly string[],
  to: string,
  kept: readonly string[],
): void {
  const scores = ids.map((id) => scoreOf(state, id));
  const chosen = ids.indexOf(to);
  node.conclude({ type: "tot_evaluate", chosen, scores, ids, kept, depth: measureDepth(to) });
}

function goOnWith(state: TotState, frontier: readonly string[]) {
  const judged: { [id: string]: Judgement } = {};
  for (const id of frontier) judged[id] = { score: scoreOf(state, id), standing: "kept" };
  return { frontier, judged, backtracks: state.backtracks + 1, isBack: false };
}
