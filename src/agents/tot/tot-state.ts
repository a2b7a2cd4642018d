/**
 * The tree as the state of a graph, and functions that read it. Ids are paths: the third child of the first thought is
 * "1.3".
 *
 * Invariant: a step writes only what is new. The data of a thought is spread over several channels, so that a new score
 * does not store its text again.
 */
import { merge, replace, type StateOf } from "../../graph/index.ts";
import type { SearchOutcome, PathStep } from "./prompts.ts";
import { type CandidateThought, formatCall } from "./read-thoughts.ts";

/** The question. It has no text and appears in no event. */
export const ROOT = "root";

/**
 * `kept`: continued. `open`: promising, not tried yet (depth). `spare`: promising, but not among the best (breadth).
 * `pruned`: a dead end.
 */
export type ThoughtStatus = "kept" | "open" | "spare" | "pruned";

export type ThoughtJudgement = { readonly score: number; readonly standing: ThoughtStatus };

/** Thoughts of one level, and the key of an earlier level: a linked stack. */
export type TreeLevel = {
  readonly ids: readonly string[];
  /** Null for the first level. */
  readonly below: string | null;
};

export const channels = {
  thoughts: merge<CandidateThought>(),
  /** Number of children by thought. */
  children: merge<number>(),
  judged: merge<ThoughtJudgement>(),
  /** Results of a thought's tools. */
  observed: merge<readonly string[]>(),
  /** Levels with spare thoughts, to which the search can backtrack. */
  levels: merge<TreeLevel>(),
  /** Key of the latest level that still has spares. */
  top: replace<string | null>(null),
  /** Thoughts whose children are all dead ends while other branches continue. No event has reported them yet. */
  ended: merge<TreeLevel>(),
  lastEnded: replace<string | null>(null),
  /** Thoughts to continue with, best first. */
  frontier: replace<readonly string[]>([ROOT]),
  /** Parents of the latest thoughts. */
  parents: replace<readonly string[]>([]),
  best: replace<string | null>(null),
  /** The thought last reported as chosen; null if the latest choice was none. */
  chosen: replace<string | null>(null),
  /** True if a budget left thoughts out or unrated, so no branch is known to be dead. */
  isShort: replace<boolean>(false),
  /** True if the model gave no readable next steps for a thought, which therefore is not known to be dead. */
  isUnread: replace<boolean>(false),
  solved: replace<string | null>(null),
  rounds: replace<number>(0),
  made: replace<number>(0),
  tokens: replace<number>(0),
  backtracks: replace<number>(0),
  startedAt: replace<number>(0),
  /** Null while the search continues. */
  outcome: replace<SearchOutcome | null>(null),
  /** True if `observe` decided to backtrack. */
  isBack: replace<boolean>(false),
  /** True if the model returned an answer. */
  isAnswered: replace<boolean>(false),
};

export type TotState = StateOf<typeof channels>;

export function measureDepth(id: string): number {
  return id === ROOT ? 0 : id.split(".").length;
}

export function nameChild(parent: string, index: number): string {
  return parent === ROOT ? String(index + 1) : `${parent}.${index + 1}`;
}

export function findParent(id: string): string {
  const end = id.lastIndexOf(".");
  return end < 0 ? ROOT : id.slice(0, end);
}

export function listChildren({ children }: Pick<TotState, "children">, parent: string): readonly string[] {
  return Array.from({ length: children[parent] ?? 0 }, (_, index) => nameChild(parent, index));
}

/** Ids from the first step to a thought. */
export function listPath(id: string): readonly string[] {
  if (id === ROOT) return [];
  const names = id.split(".");
  return names.map((_, index) => names.slice(0, index + 1).join("."));
}

/** Steps from the question to a thought. */
export function listSteps({ thoughts, observed }: TotState, id: string): readonly PathStep[] {
  return listPath(id).map((step) => {
    const { text = "", calls = [] } = thoughts[step] ?? {};
    const observations = observed[step];
    return {
      id: step,
      text,
      ...(calls.length === 0 ? {} : { actions: calls.map(formatCall) }),
      ...(observations === undefined ? {} : { observations }),
    };
  });
}

export function scoreOf({ judged }: TotState, id: string): number {
  return judged[id]?.score ?? 0;
}

/** Best first; equal scores keep their order. */
function sortByScore(state: TotState, ids: readonly string[]): readonly string[] {
  return ids.toSorted((a, b) => scoreOf(state, b) - scoreOf(state, a));
}

/** The current thought of a depth-first search. */
export function findPosition({ frontier, parents }: TotState): string {
  return frontier[0] ?? parents[0] ?? ROOT;
}

/** Depth first: the best untried thought of the nearest level above. */
export function findUntried(state: TotState): string | undefined {
  for (let at = findPosition(state); at !== ROOT; at = findParent(at)) {
    const open = listChildren(state, findParent(at)).filter((id) => state.judged[id]?.standing === "open");
    const [next] = sortByScore(state, open);
    if (next !== undefined) return next;
  }
  return undefined;
}

/** Breadth first: the spares of the latest level that has any, best first. */
export function listSpares(state: TotState): readonly string[] {
  const { top, levels, judged } = state;
  const ids = top === null ? [] : (levels[top]?.ids ?? []);
  return sortByScore(
    state,
    ids.filter((id) => judged[id]?.standing === "spare"),
  );
}
