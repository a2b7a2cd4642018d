/**
 * Selects the thoughts of a tree to draw. Small trees are drawn whole. In large trees, branches are folded, dead ones
 * first, and of many siblings only some are shown; folded thoughts are counted. The paths to the chosen, newest and
 * selected thoughts are always open.
 *
 * Invariant: every thought is either drawn or counted in exactly one fold.
 */
import type { ThoughtView, TreeView } from "../../client/index.ts";
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
  /** Undefined for a thought without children. */
  readonly isOpen: boolean | undefined;
  /** Position among the siblings, from 1, and their number. */
  readonly position: number;
  readonly count: number;
}

export const FOLD_LIMITS = {
  /** Largest tree that is drawn whole. */
  drawn: 120,
  /** Siblings drawn before folding, and added per request. */
  siblings: 24,
};

export const NO_OVERRIDES: FoldOverrides = { toggled: new Map(), more: new Map() };

/** Returns parents before their children, and siblings in order. */
export function foldTree(
  index: TreeIndex,
  { path }: Pick<TreeView, "path">,
  overrides: FoldOverrides,
  limits: typeof FOLD_LIMITS = FOLD_LIMITS,
): DrawnThought[] {
  const needed = collectNeeded(index, path, overrides.selected);
  const picked = new Map<number, readonly number[]>();
  const pick = (thoughtIndex: number, among: readonly number[]): readonly number[] => {
    const wanted =
      limits.siblings + (overrides.more.get(thoughtIndex < 0 ? "" : (index.thoughts[thoughtIndex]?.id ?? "")) ?? 0);
    return pickSiblings(index, among, needed, wanted);
  };
  const roots = pick(-1, index.roots);
  let left = limits.drawn - roots.length;
  // Branches that must be open, then live branches, then dead ones.
  const queues: readonly { readonly thoughtIndexes: number[]; head: number }[] = [0, 1, 2].map(() => ({
    thoughtIndexes: [],
    head: 0,
  }));
  const enqueue = (thoughtIndexes: readonly number[]): void => {
    for (const thoughtIndex of thoughtIndexes) {
      const children = index.children[thoughtIndex] ?? [];
      const override = overrides.toggled.get(index.thoughts[thoughtIndex]?.id ?? "");
      if (children.length === 0 || override === false) continue;
      const isNeeded = override === true || children.some((child) => needed.has(child));
      queues[isNeeded ? 0 : isAlive(index.thoughts[thoughtIndex]) ? 1 : 2]?.thoughtIndexes.push(thoughtIndex);
    }
  };
  enqueue(roots);
  for (;;) {
    const queue = queues.find(({ thoughtIndexes, head }) => head < thoughtIndexes.length);
    if (queue === undefined) return listDrawn(index, roots, picked);
    const thoughtIndex = queue.thoughtIndexes[queue.head++] as number;
    const children = pick(thoughtIndex, index.children[thoughtIndex] ?? []);
    if (queue !== queues[0] && children.length > left) continue;
    left -= children.length;
    picked.set(thoughtIndex, children);
    enqueue(children);
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
 * Keeps the order. Prefers required thoughts, then live ones. A single extra sibling is drawn, since its placeholder
 * would take the same space.
 */
function pickSiblings(
  { thoughts }: TreeIndex,
  among: readonly number[],
  needed: ReadonlySet<number>,
  wanted: number,
): readonly number[] {
  if (among.length <= wanted + 1) return among;
  const chosen = new Set<number>(among.filter((thoughtIndex) => needed.has(thoughtIndex)));
  for (const isWanted of [isAlive, () => true])
    for (const thoughtIndex of among) {
      if (chosen.size >= wanted) break;
      if (isWanted(thoughts[thoughtIndex])) chosen.add(thoughtIndex);
    }
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
      for (const thoughtIndex of all) if (!shown.has(thoughtIndex)) folded += index.sizes[thoughtIndex] as number;
      const name = above < 0 ? "" : (index.thoughts[above]?.id ?? "");
      const column = above < 0 ? 0 : (index.columns[above] as number) + 1;
      stack.push({
        key: `rest ${name}`,
        thoughtIndex: undefined,
        parent,
        column,
        folded,
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
