/**
 * A tree of thoughts by number: who is below whom, and how many there are below each. Names may repeat, parents may be
 * unknown or go round in a circle; what comes out is a forest all the same. It costs time in proportion to the thoughts.
 */
import type { ThoughtView } from "../../client/index.ts";

export interface TreeIndex {
  readonly thoughts: readonly ThoughtView[];
  readonly places: ReadonlyMap<string, number>;
  /** -1: none, or none that is known. */
  readonly parents: Int32Array;
  /** In the order they were thought of. */
  readonly children: readonly (readonly number[])[];
  readonly roots: readonly number[];
  /** Each before those below it. */
  readonly order: readonly number[];
  /** Thoughts below each, itself included. */
  readonly sizes: Int32Array;
  /** One to the right of its parent; by its depth where the parent is not known. */
  readonly columns: Int32Array;
}

/** A stream may claim any depth for a thought whose parent nobody knows. */
const MAX_LOOSE_COLUMN = 24;

const NOBODY = -1;
const NONE: readonly number[] = [];

export function indexTree(thoughts: readonly ThoughtView[]): TreeIndex {
  const places = new Map<string, number>();
  for (const [place, { id }] of thoughts.entries()) if (!places.has(id)) places.set(id, place);
  const parents = new Int32Array(thoughts.length);
  for (const [place, { parent }] of thoughts.entries())
    parents[place] = parent === undefined ? NOBODY : (places.get(parent) ?? NOBODY);
  cutCircles(parents);
  const children: number[][] = [];
  const roots: number[] = [];
  for (const [place, parent] of parents.entries()) {
    if (parent === NOBODY) roots.push(place);
    else (children[parent] ??= []).push(place);
  }
  const childrenOf = thoughts.map((_, place) => children[place] ?? NONE);
  const order = [...roots];
  // The list grows while it is gone through: a level after the other.
  for (let at = 0; at < order.length; at++)
    for (const child of childrenOf[order[at] as number] ?? NONE) order.push(child);
  const columns = new Int32Array(thoughts.length);
  for (const place of order) {
    const parent = parents[place] as number;
    const depth = thoughts[place]?.depth ?? 1;
    columns[place] =
      parent === NOBODY
        ? Math.min(Math.max(Math.trunc(depth) - 1, 0), MAX_LOOSE_COLUMN)
        : (columns[parent] as number) + 1;
  }
  return { thoughts, places, parents, children: childrenOf, roots, order, sizes: countBelow(parents, order), columns };
}

/** From a thought up to its root, itself first. */
export function listAncestors({ parents }: TreeIndex, place: number, limit = Infinity): number[] {
  const chain: number[] = [];
  for (let at = place; at !== NOBODY && chain.length < limit; at = parents[at] as number) chain.push(at);
  return chain;
}

/** Where going up leads back to a thought, that thought loses its parent. Each is gone through once. */
function cutCircles(parents: Int32Array): void {
  const walks = new Int32Array(parents.length);
  for (let start = 0; start < parents.length; start++) {
    const walk = start + 1;
    let at = start;
    while (at !== NOBODY && walks[at] === 0) {
      walks[at] = walk;
      at = parents[at] as number;
    }
    if (at !== NOBODY && walks[at] === walk) parents[at] = NOBODY;
  }
}

function countBelow(parents: Int32Array, order: readonly number[]): Int32Array {
  const sizes = new Int32Array(parents.length).fill(1);
  for (const place of order.toReversed()) {
    const parent = parents[place] as number;
    if (parent !== NOBODY) sizes[parent] = (sizes[parent] as number) + (sizes[place] as number);
  }
  return sizes;
}
