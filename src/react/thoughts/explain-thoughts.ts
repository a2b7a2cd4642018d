/** Why thoughts were given up, as far as the search has said it. */
import type { BacktrackView, TreeView } from "../../client/index.ts";
import { listAncestors, type TreeIndex } from "./tree-index.ts";

/**
 * By place of the thought. A way back names the thought it began at; those above it that were given up with it have the
 * same reason. Where it names none, it is the last that went back from below the thought's depth.
 */
export function explainAbandoned(index: TreeIndex, { backtracks }: Pick<TreeView, "backtracks">): Map<number, string> {
  const reasons = new Map<number, string>();
  const isLeft = (place: number): boolean => index.thoughts[place]?.status === "abandoned";
  for (const { from, reason } of backtracks.toReversed()) {
    let place = from === undefined ? -1 : (index.places.get(from) ?? -1);
    while (place >= 0 && isLeft(place) && !reasons.has(place)) {
      reasons.set(place, reason);
      place = index.parents[place] as number;
    }
  }
  const nameless = backtracks.filter(({ from }) => from === undefined);
  if (nameless.length > 0)
    for (const [place, thought] of index.thoughts.entries())
      if (isLeft(place) && !reasons.has(place)) {
        const back = findBack(nameless, thought.depth);
        if (back !== undefined) reasons.set(place, back.reason);
      }
  return reasons;
}

/** Ways back that are looked at for one thought: one that has a name for its beginning is never looked for. */
const MAX_LOOK_BACK = 32;

function findBack(backtracks: readonly BacktrackView[], depth: number): BacktrackView | undefined {
  return backtracks.slice(-MAX_LOOK_BACK).findLast(({ toDepth }) => toDepth < depth);
}

/** The best score among a thought and its siblings. */
export function findBestScore({ thoughts, parents, children, roots }: TreeIndex, place: number): number | undefined {
  const parent = parents[place] as number;
  let best: number | undefined;
  for (const sibling of parent < 0 ? roots : (children[parent] ?? [])) {
    const score = thoughts[sibling]?.score;
    if (score !== undefined && (best === undefined || score > best)) best = score;
  }
  return best;
}

export interface TreeFacts {
  readonly count: number;
  readonly depth: number;
  readonly best: number | undefined;
  readonly backtracks: number;
}

export function summariseTree({ thoughts, backtracks }: TreeView): TreeFacts {
  let depth = 0;
  let best: number | undefined;
  for (const thought of thoughts) {
    depth = Math.max(depth, thought.depth);
    if (thought.score !== undefined) best = Math.max(best ?? -Infinity, thought.score);
  }
  return { count: thoughts.length, depth, best, backtracks: backtracks.length };
}

/** Those that came with the newest: siblings at the end of the list. */
export function countNewest({ thoughts, parents }: TreeIndex, limit = 64): number {
  const parent = parents[thoughts.length - 1];
  let count = 0;
  while (count < Math.min(limit, thoughts.length) && parents[thoughts.length - 1 - count] === parent) count++;
  return count;
}

/** Its parents, the root first, at most so many; `isCut` where there are more. */
export function listChain(index: TreeIndex, place: number, limit = 8): { places: number[]; isCut: boolean } {
  const chain = listAncestors(index, place, limit + 2).slice(1);
  return { places: chain.slice(0, limit).toReversed(), isCut: chain.length > limit };
}
