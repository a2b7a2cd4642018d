/** Facts about a tree of thoughts: reasons for abandoned branches, best scores, counts. */
import type { TreeView } from "../../client/index.ts";
import type { BacktrackView } from "../../client/view.ts";
import { listAncestors, type TreeIndex } from "./tree-index.ts";

/**
 * Returns the reason each abandoned thought was abandoned, by its index. A backtrack names the thought it started from;
 * abandoned ancestors share its reason. For a backtrack without a start, the last one from below the thought's depth
 * applies. `describe` translates a reason.
 */
export function explainAbandoned(
  index: TreeIndex,
  { backtracks }: Pick<TreeView, "backtracks">,
  describe: (backtrack: BacktrackView) => string = ({ reason }) => reason,
): Map<number, string> {
  const reasons = new Map<number, string>();
  const isLeft = (thoughtIndex: number): boolean => index.thoughts[thoughtIndex]?.status === "abandoned";
  for (const backtrack of backtracks.toReversed()) {
    const { from } = backtrack;
    let thoughtIndex = from === undefined ? -1 : (index.indexById.get(from) ?? -1);
    while (thoughtIndex >= 0 && isLeft(thoughtIndex) && !reasons.has(thoughtIndex)) {
      reasons.set(thoughtIndex, describe(backtrack));
      thoughtIndex = index.parents[thoughtIndex] as number;
    }
  }
  const nameless = backtracks.filter(({ from }) => from === undefined);
  if (nameless.length > 0)
    for (const [thoughtIndex, thought] of index.thoughts.entries())
      if (isLeft(thoughtIndex) && !reasons.has(thoughtIndex)) {
        const back = findBacktrack(nameless, thought.depth);
        if (back !== undefined) reasons.set(thoughtIndex, describe(back));
      }
  return reasons;
}

/** Backtracks without a start that are searched per thought. */
const MAX_BACKTRACKS = 32;

function findBacktrack(backtracks: readonly BacktrackView[], depth: number): BacktrackView | undefined {
  return backtracks.slice(-MAX_BACKTRACKS).findLast(({ toDepth }) => toDepth < depth);
}

/** Returns the best score among a thought and its siblings. */
export function findBestScore(
  { thoughts, parents, children, roots }: TreeIndex,
  thoughtIndex: number,
): number | undefined {
  const parent = parents[thoughtIndex] as number;
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

/** Counts the newest siblings: those at the end of the list with the same parent. */
export function countNewest({ thoughts, parents }: TreeIndex, limit = 64): number {
  const parent = parents[thoughts.length - 1];
  let count = 0;
  while (count < Math.min(limit, thoughts.length) && parents[thoughts.length - 1 - count] === parent) count++;
  return count;
}

/** Returns the ancestors of a thought, root first, at most `limit`. `isCut` says whether there are more. */
export function listChain(index: TreeIndex, thoughtIndex: number, limit = 8): { places: number[]; isCut: boolean } {
  const chain = listAncestors(index, thoughtIndex, limit + 2).slice(1);
  return { places: chain.slice(0, limit).toReversed(), isCut: chain.length > limit };
}
