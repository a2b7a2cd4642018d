/**
 * The tree as the state of a graph, and how it is read. Ids are paths: the third child of the first thought is "1.3".
 *
 * Invariant: a step writes what is new. What is known of a thought is kept in several channels, each written when it
 * becomes known, so that no text is stored again because a score has come.
 */
import { merge, replace, type StateOf } from "../../graph/index.ts";
import type { Outcome, Step } from "./prompts.ts";
import { type Candidate, signCall } from "./read-thoughts.ts";

/** The question itself; it has no text, and no event names it. */
export const ROOT = "root";

/**
 * `kept`: it went on. `open`: good enough, and not yet tried (depth). `spare`: good enough, but not among the best
 * (breadth). `pruned`: it is a dead end.
 */
export type Standing = "kept" | "open" | "spare" | "pruned";

export type Judgement = { readonly score: number; readonly standing: Standing };

/** Thoughts of one level, and the round of an earlier one: a stack of levels, each written once. */
export type Level = {
  readonly ids: readonly string[];
  /** Null where there is none. */
  readonly below: string | null;
};

export const channels = {
  thoughts: merge<Candidate>(),
  /** How many thoughts follow on one. */
  children: merge<number>(),
  judged: merge<Judgement>(),
  /** What the tools of a thought gave. */
  observed: merge<readonly string[]>(),
  /** Those that the search can go back to, since they have spares. */
  levels: merge<Level>(),
  /** The latest of them that is not used up. */
  top: replace<string | null>(null),
  /** Thoughts that nothing goes on from while others of their level do; nobody was told yet that they are given up. */
  ended: merge<Level>(),
  lastEnded: replace<string | null>(null),
  /** Thoughts that go on, best first. */
  frontier: replace<readonly string[]>([ROOT]),
  /** Those that the latest thoughts follow on. */
  parents: replace<readonly string[]>([]),
  best: replace<string | null>(null),
  /** The thought that was told last to be the chosen one; null where the latest choice was none. */
  chosen: replace<string | null>(null),
  /** Something was left out or not judged because a budget was spent: no branch is known to be dead. */
  isShort: replace<boolean>(false),
  solved: replace<string | null>(null),
  rounds: replace<number>(0),
  made: replace<number>(0),
  tokens: replace<number>(0),
  backtracks: replace<number>(0),
  startedAt: replace<number>(0),
  /** Undecided while the search goes on. */
  outcome: replace<Outcome | null>(null),
  /** What `observe` has decided. */
  isBack: replace<boolean>(false),
  /** The model has said something for an answer. */
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

export function listChildren({ children }: TotState, parent: string): readonly string[] {
  return Array.from({ length: children[parent] ?? 0 }, (_, index) => nameChild(parent, index));
}

/** Ids from the first step to a thought. */
export function listPath(id: string): readonly string[] {
  if (id === ROOT) return [];
  const names = id.split(".");
  return names.map((_, index) => names.slice(0, index + 1).join("."));
}

/** The steps from the question to a thought. */
export function listSteps({ thoughts, observed }: TotState, id: string): readonly Step[] {
  return listPath(id).map((step) => {
    const { text = "", calls = [] } = thoughts[step] ?? {};
    const observations = observed[step];
    return {
      id: step,
      text,
      ...(calls.length === 0 ? {} : { actions: calls.map(signCall) }),
      ...(observations === undefined ? {} : { observations }),
    };
  });
}

export function scoreOf({ judged }: TotState, id: string): number {
  return judged[id]?.score ?? 0;
}

/** Ids of these, best first; of equals the earlier. */
function sortByScore(state: TotState, ids: readonly string[]): readonly string[] {
  return ids.toSorted((a, b) => scoreOf(state, b) - scoreOf(state, a));
}

/** Where the search stands in a depth-first search: the thought it is about to leave. */
export function findPosition({ frontier, parents }: TotState): string {
  return frontier[0] ?? parents[0] ?? ROOT;
}

/** Depth first: the best thought not yet tried of the nearest level above that has one. */
export function findUntried(state: TotState): string | undefined {
  for (let at = findPosition(state); at !== ROOT; at = findParent(at)) {
    const open = listChildren(state, findParent(at)).filter((id) => state.judged[id]?.standing === "open");
    const [next] = sortByScore(state, open);
    if (next !== undefined) return next;
  }
  return undefined;
}

/** Breadth first: those that were left out for want of room, best first, of the latest level that has any. */
export function listSpares(state: TotState): readonly string[] {
  const { top, levels, judged } = state;
  const ids = top === null ? [] : (levels[top]?.ids ?? []);
  return sortByScore(
    state,
    ids.filter((id) => judged[id]?.standing === "spare"),
  );
}
