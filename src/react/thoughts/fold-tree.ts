/**
 * Selects the thoughts of a tree to draw. Pruned siblings are folded into a count. In large trees, branches are folded,
 * dead ones first, and of many siblings only some are shown; folded thoughts are counted. The paths to the chosen, newest
 * and selected thoughts are always open.
 *
 * Invariant: every thought is either drawn or counted in exactly one fold.
 */
import type { TreeView } from "../../client/index.ts";
import type { ThoughtView } from "../../client/view.ts";
import { listAncestors, type TreeIndex } from "./tree-index.ts";

/** Folding choices made by the user. */
export interface FoldOverrides {
  /** By id: opened or closed. */
  readonly toggled: ReadonlyMap<string, boolean>;
  /** By parent ID (empty for roots): number of additional siblings to show. */
  readonly more: ReadonlyMap<string, number>;
  readonly selected?: string | undefined;
}

export interface DrawnThought {
  readonly key: string;
  /** Index of the thought; undefined for the placeholder of folded siblings. */
  readonly thoughtIndex: number | undefined;
  /** Position of the parent in the list of drawn thoughts; -1 if there is none. */
  readonly parent: number;
  readonly column: number;
  /** Number of thoughts folded here. */
  readonly folded: number;
  /** All thoughts folded here were pruned; only for placeholders. */
  readonly isPruned: boolean;
  /** Undefined for a thought without children. */
  readonly isOpen: boolean | undefined;
  /** Position among the siblings, from 1, and their number. */
  readonly position: number;
  readonly count: number;
}

export interface FoldLimits {
  /** Largest number of thoughts drawn without a request. */
  readonly drawn: number;
  /** Siblings drawn before folding. */
  readonly siblings: number;
  /** The same if they are kept: a search goes on with those. */
  readonly kept: number;
  /** The same with pruned ones. Default: 0, pruned siblings are counted. */
  readonly pruned?: number;
}

/** From the most thoughts to the fewest; `fitTree` uses the first with which the tree fits. */
export const FOLD_LIMITS: readonly [FoldLimits, ...FoldLimits[]] = [
  { drawn: 120, siblings: 24, kept: 24 },
  { drawn: 80, siblings: 8, kept: 12 },
  { drawn: 60, siblings: 6, kept: 10 },
  { drawn: 50, siblings: 5, kept: 8 },
  { drawn: 45, siblings: 4, kept: 7 },
  { drawn: 40, siblings: 3, kept: 6 },
  { drawn: 30, siblings: 2, kept: 5 },
  { drawn: 20, siblings: 1, kept: 5 },
  { drawn: 12, siblings: 1, kept: 2 },
];

/** On a canvas, which has room for all thoughts of most trees. */
export const CANVAS_LIMITS: FoldLimits = { drawn: 500, siblings: 500, kept: 500, pruned: 500 };

/** Siblings added per request. */
export const MORE_SIBLINGS = 24;

export const NO_OVERRIDES: FoldOverrides = { toggled: new Map(), more: new Map() };

/** Returns parents before their children, and siblings in order. */
export function foldTree(
  index: TreeIndex,
  { path }: Pick<TreeView, "path">,
  overrides: FoldOverrides,
  limits: FoldLimits = FOLD_LIMITS[0],
): DrawnThought[] {
  const needed = collectNeeded(index, path, overrides.selected);
  const picked = new Map<number, readonly number[]>();
  // Returns the siblings to draw, and those of them that are drawn without a request of the user.
  const pick = (thoughtIndex: number, among: readonly number[]): readonly (readonly number[])[] => {
    const more = overrides.more.get(thoughtIndex < 0 ? "" : (index.thoughts[thoughtIndex]?.id ?? "")) ?? 0;
    const chosen = pickSiblings(index, among, needed, limits, more);
    return [chosen, more === 0 ? chosen : pickSiblings(index, among, needed, limits, 0)];
  };
  const [roots = [], firstRoots = []] = pick(-1, index.roots);
  let left = limits.drawn - firstRoots.length;
  // Branches that must be open, then live branches, then dead ones.
  const queues: readonly { readonly thoughtIndexes: number[]; head: number }[] = [0, 1, 2].map(() => ({
    thoughtIndexes: [],
    head: 0,
  }));
  // Siblings that the user requested stay closed, so that they take no space from other branches.
  const enqueue = (thoughtIndexes: readonly number[], unrequested: readonly number[]): void => {
    for (const thoughtIndex of thoughtIndexes) {
      const children = index.children[thoughtIndex] ?? [];
      const override = overrides.toggled.get(index.thoughts[thoughtIndex]?.id ?? "");
      if (children.length === 0 || override === false) continue;
      const isNeeded = override === true || children.some((child) => needed.has(child));
      if (!isNeeded && !unrequested.includes(thoughtIndex)) continue;
      queues[isNeeded ? 0 : isAlive(index.thoughts[thoughtIndex]) ? 1 : 2]?.thoughtIndexes.push(thoughtIndex);
    }
  };
  enqueue(roots, firstRoots);
  for (;;) {
    const queue = queues.find(({ thoughtIndexes, head }) => head < thoughtIndexes.length);
    if (queue === undefined) return listDrawn(index, roots, picked);
    const thoughtIndex = queue.thoughtIndexes[queue.head++] as number;
    const [children = [], unrequested = []] = pick(thoughtIndex, index.children[thoughtIndex] ?? []);
    if (queue !== queues[0] && unrequested.length > left) continue;
    left -= unrequested.length;
    picked.set(thoughtIndex, children);
    enqueue(children, unrequested);
  }
}

function isAlive(thought: ThoughtView | undefined): boolean {
  return thought?.status === "open" || thought?.status === "kept";
}

function collectNeeded(index: TreeIndex, path: readonly string[], selected: string | undefined): Set<number> {
  const ends = [path.at(-1), index.thoughts.at(-1)?.id, selected];
  const needed = new Set<number>();
  for (const id of ends) {
    const thoughtIndex = id === undefined ? undefined : index.indexById.get(id);
    if (thoughtIndex !== undefined) for (const above of listAncestors(index, thoughtIndex)) needed.add(above);
  }
  return needed;
}

/**
 * Keeps the order. Takes required thoughts, then kept, open and abandoned ones up to the limit; pruned ones only on
 * request. A single sibling is not folded, since its placeholder would take the same space.
 */
function pickSiblings(
  { thoughts }: TreeIndex,
  among: readonly number[],
  needed: ReadonlySet<number>,
  limits: FoldLimits,
  more: number,
): readonly number[] {
  const chosen = new Set<number>(among.filter((thoughtIndex) => needed.has(thoughtIndex)));
  const take = (isWanted: (thought: ThoughtView | undefined) => boolean, most: number): void => {
    for (const thoughtIndex of among) {
      if (chosen.size >= most) return;
      if (isWanted(thoughts[thoughtIndex])) chosen.add(thoughtIndex);
    }
  };
  take((thought) => thought?.status === "kept", limits.kept);
  take(isAlive, limits.siblings);
  take((thought) => thought?.status !== "pruned", limits.siblings);
  take(() => true, limits.pruned ?? 0);
  const most = chosen.size + more;
  take((thought) => thought?.status !== "pruned", most);
  take(() => true, most);
  if (among.length <= chosen.size + 1) return among;
  return among.filter((thoughtIndex) => chosen.has(thoughtIndex));
}

function listDrawn(
  index: TreeIndex,
  roots: readonly number[],
  picked: ReadonlyMap<number, readonly number[]>,
): DrawnThought[] {
  const drawn: DrawnThought[] = [];
  const stack: DrawnThought[] = [];
  const stackSiblings = (
    thoughtIndexes: readonly number[],
    all: readonly number[],
    above: number,
    parent: number,
  ): void => {
    const isWhole = thoughtIndexes.length === all.length;
    const count = thoughtIndexes.length + (isWhole ? 0 : 1);
    if (!isWhole) {
      const shown = new Set(thoughtIndexes);
      let folded = 0;
      let isPruned = true;
      for (const thoughtIndex of all) {
        if (shown.has(thoughtIndex)) continue;
        folded += index.sizes[thoughtIndex] as number;
        isPruned &&= index.thoughts[thoughtIndex]?.status === "pruned";
      }
      const name = above < 0 ? "" : (index.thoughts[above]?.id ?? "");
      const column = above < 0 ? 0 : (index.columns[above] as number) + 1;
      stack.push({
        key: `rest ${name}`,
        thoughtIndex: undefined,
        parent,
        column,
        folded,
        isPruned,
        isOpen: undefined,
        position: count,
        count,
      });
    }
    for (let at = thoughtIndexes.length - 1; at >= 0; at--) {
      const thoughtIndex = thoughtIndexes[at] as number;
      const isOpen = index.children[thoughtIndex]?.length === 0 ? undefined : picked.has(thoughtIndex);
      stack.push({
        key: `thought ${thoughtIndex}`,
        thoughtIndex,
        parent,
        column: index.columns[thoughtIndex] as number,
        folded: isOpen === false ? (index.sizes[thoughtIndex] as number) - 1 : 0,
        isPruned: false,
        isOpen,
        position: at + 1,
        count,
      });
    }
  };
  stackSiblings(roots, index.roots, -1, -1);
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const { thoughtIndex } = next;
    const children = thoughtIndex === undefined ? undefined : picked.get(thoughtIndex);
    if (thoughtIndex !== undefined && children !== undefined)
      stackSiblings(children, index.children[thoughtIndex] ?? [], thoughtIndex, drawn.length);
    drawn.push(next);
  }
  return drawn;
}
