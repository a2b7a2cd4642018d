/**
 * Index of a tree of thoughts: parents, children and subtree sizes by position. Tolerates repeated IDs, unknown parents
 * and cycles; the result is always a forest. Takes linear time.
 */
import type { ThoughtView } from "../../client/view.ts";

export interface TreeIndex {
  readonly thoughts: readonly ThoughtView[];
  readonly indexById: ReadonlyMap<string, number>;
  /** -1 if the thought has no known parent. */
  readonly parents: Int32Array;
  /** In order of arrival. */
  readonly children: readonly (readonly number[])[];
  readonly roots: readonly number[];
  /** Breadth first: parents before their children. */
  readonly order: readonly number[];
  /** Size of each subtree, including its root. */
  readonly sizes: Int32Array;
  /** One to the right of the parent; from the depth if the parent is unknown. */
  readonly columns: Int32Array;
}

/** Maximum column of a thought with an unknown parent: a stream may claim any depth. */
const MAX_LOOSE_COLUMN = 24;

const NO_PARENT = -1;
const NONE: readonly number[] = [];

export function indexTree(thoughts: readonly ThoughtView[]): TreeIndex {
  const indexById = new Map<string, number>();
  for (const [thoughtIndex, { id }] of thoughts.entries()) if (!indexById.has(id)) indexById.set(id, thoughtIndex);
  const parents = new Int32Array(thoughts.length);
  for (const [thoughtIndex, { parent }] of thoughts.entries())
    parents[thoughtIndex] = parent === undefined ? NO_PARENT : (indexById.get(parent) ?? NO_PARENT);
  breakCycles(parents);
  const children: number[][] = [];
  const roots: number[] = [];
  for (const [thoughtIndex, parent] of parents.entries()) {
    if (parent === NO_PARENT) roots.push(thoughtIndex);
    else (children[parent] ??= []).push(thoughtIndex);
  }
  const childrenOf = thoughts.map((_, thoughtIndex) => children[thoughtIndex] ?? NONE);
  const order = [...roots];
  // `order` grows during the loop, level by level.
  for (let at = 0; at < order.length; at++)
    for (const child of childrenOf[order[at] as number] ?? NONE) order.push(child);
  const columns = new Int32Array(thoughts.length);
  for (const thoughtIndex of order) {
    const parent = parents[thoughtIndex] as number;
    const depth = thoughts[thoughtIndex]?.depth ?? 1;
    columns[thoughtIndex] =
      parent === NO_PARENT
        ? Math.min(Math.max(Math.trunc(depth) - 1, 0), MAX_LOOSE_COLUMN)
        : (columns[parent] as number) + 1;
  }
  return {
    thoughts,
    indexById,
    parents,
    children: childrenOf,
    roots,
    order,
    sizes: countBelow(parents, order),
    columns,
  };
}

/** Returns the thought and its ancestors up to the root. */
export function listAncestors({ parents }: TreeIndex, thoughtIndex: number, limit = Infinity): number[] {
  const chain: number[] = [];
  for (let at = thoughtIndex; at !== NO_PARENT && chain.length < limit; at = parents[at] as number) chain.push(at);
  return chain;
}

/** Returns all thoughts from top to bottom, as an outline has them. */
export function listDepthFirst({ children, roots }: TreeIndex): number[] {
  const listed: number[] = [];
  const stack = roots.toReversed();
  for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
    listed.push(at);
    stack.push(...(children[at] ?? NONE).toReversed());
  }
  return listed;
}

/** Removes the parent of one thought in each cycle. Visits each thought once. */
function breakCycles(parents: Int32Array): void {
  const walks = new Int32Array(parents.length);
  for (let start = 0; start < parents.length; start++) {
    const walk = start + 1;
    let at = start;
    while (at !== NO_PARENT && walks[at] === 0) {
      walks[at] = walk;
      at = parents[at] as number;
    }
    if (at !== NO_PARENT && walks[at] === walk) parents[at] = NO_PARENT;
  }
}

function countBelow(parents: Int32Array, order: readonly number[]): Int32Array {
  const sizes = new Int32Array(parents.length).fill(1);
  for (const thoughtIndex of order.toReversed()) {
    const parent = parents[thoughtIndex] as number;
    if (parent !== NO_PARENT) sizes[parent] = (sizes[parent] as number) + (sizes[thoughtIndex] as number);
  }
  return sizes;
}
