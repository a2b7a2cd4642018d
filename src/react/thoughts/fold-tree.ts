/**
 * Which thoughts of a tree are drawn. A small tree is drawn whole. In a large one branches are folded, dead ones first, and
 * of many siblings the best known are kept; what is folded is counted. The way to the chosen thought, to the newest and
 * to the selected one is always open.
 *
 * Invariant: every thought is either drawn or counted in exactly one fold.
 */
import type { ThoughtView, TreeView } from "../../client/index.ts";
import { listAncestors, type TreeIndex } from "./tree-index.ts";

/** What somebody who looks at it has asked for. */
export interface FoldWishes {
  /** By id: opened or closed by hand. */
  readonly toggled: ReadonlyMap<string, boolean>;
  /** By id of the parent, empty for those without: how many more siblings are wanted. */
  readonly more: ReadonlyMap<string, number>;
  readonly selected?: string | undefined;
}

export interface DrawnThought {
  readonly key: string;
  /** Of the thought; undefined for the stand-in of siblings that are folded. */
  readonly place: number | undefined;
  /** Position in the list of the drawn; -1 where there is none. */
  readonly parent: number;
  readonly column: number;
  /** Thoughts that are folded here. */
  readonly folded: number;
  /** Undefined where nothing is below it. */
  readonly isOpen: boolean | undefined;
  /** Among its siblings, from 1, and how many these are. */
  readonly position: number;
  readonly count: number;
}

export const FOLD_LIMITS = {
  /** Thoughts up to which a tree is drawn whole. */
  drawn: 120,
  /** Siblings that are drawn before the rest is folded, and how many more each time they are asked for. */
  siblings: 24,
};

export const NO_WISHES: FoldWishes = { toggled: new Map(), more: new Map() };

/** Each before those below it, and siblings in order. */
export function foldTree(
  index: TreeIndex,
  { path }: Pick<TreeView, "path">,
  wishes: FoldWishes,
  limits: typeof FOLD_LIMITS = FOLD_LIMITS,
): DrawnThought[] {
  const needed = collectNeeded(index, path, wishes.selected);
  const picked = new Map<number, readonly number[]>();
  const pick = (place: number, among: readonly number[]): readonly number[] => {
    const wanted = limits.siblings + (wishes.more.get(place < 0 ? "" : (index.thoughts[place]?.id ?? "")) ?? 0);
    return pickSiblings(index, among, needed, wanted);
  };
  const roots = pick(-1, index.roots);
  let left = limits.drawn - roots.length;
  // Those that must be open, then those that are alive, then the dead ones.
  const queues: readonly { readonly places: number[]; head: number }[] = [0, 1, 2].map(() => ({ places: [], head: 0 }));
  const enqueue = (places: readonly number[]): void => {
    for (const place of places) {
      const children = index.children[place] ?? [];
      const wish = wishes.toggled.get(index.thoughts[place]?.id ?? "");
      if (children.length === 0 || wish === false) continue;
      const isNeeded = wish === true || children.some((child) => needed.has(child));
      queues[isNeeded ? 0 : isAlive(index.thoughts[place]) ? 1 : 2]?.places.push(place);
    }
  };
  enqueue(roots);
  for (;;) {
    const queue = queues.find(({ places, head }) => head < places.length);
    if (queue === undefined) return listDrawn(index, roots, picked);
    const place = queue.places[queue.head++] as number;
    const children = pick(place, index.children[place] ?? []);
    if (queue !== queues[0] && children.length > left) continue;
    left -= children.length;
    picked.set(place, children);
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
    const place = id === undefined ? undefined : index.places.get(id);
    if (place !== undefined) for (const above of listAncestors(index, place)) needed.add(above);
  }
  return needed;
}

/** In their order: the needed, then the living, then the others, as many as are wanted. One more is drawn for its own. */
function pickSiblings(
  { thoughts }: TreeIndex,
  among: readonly number[],
  needed: ReadonlySet<number>,
  wanted: number,
): readonly number[] {
  if (among.length <= wanted + 1) return among;
  const chosen = new Set<number>(among.filter((place) => needed.has(place)));
  for (const isWanted of [isAlive, () => true])
    for (const place of among) {
      if (chosen.size >= wanted) break;
      if (isWanted(thoughts[place])) chosen.add(place);
    }
  return among.filter((place) => chosen.has(place));
}

function listDrawn(
  index: TreeIndex,
  roots: readonly number[],
  picked: ReadonlyMap<number, readonly number[]>,
): DrawnThought[] {
  const drawn: DrawnThought[] = [];
  const stack: DrawnThought[] = [];
  const stackSiblings = (places: readonly number[], all: readonly number[], above: number, parent: number): void => {
    const isWhole = places.length === all.length;
    const count = places.length + (isWhole ? 0 : 1);
    if (!isWhole) {
      const shown = new Set(places);
      let folded = 0;
      for (const place of all) if (!shown.has(place)) folded += index.sizes[place] as number;
      const name = above < 0 ? "" : (index.thoughts[above]?.id ?? "");
      const column = above < 0 ? 0 : (index.columns[above] as number) + 1;
      stack.push({
        key: `rest ${name}`,
        place: undefined,
        parent,
        column,
        folded,
        isOpen: undefined,
        position: count,
        count,
      });
    }
    for (let at = places.length - 1; at >= 0; at--) {
      const place = places[at] as number;
      const isOpen = index.children[place]?.length === 0 ? undefined : picked.has(place);
      stack.push({
        key: `thought ${place}`,
        place,
        parent,
        column: index.columns[place] as number,
        folded: isOpen === false ? (index.sizes[place] as number) - 1 : 0,
        isOpen,
        position: at + 1,
        count,
      });
    }
  };
  stackSiblings(roots, index.roots, -1, -1);
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const { place } = next;
    const children = place === undefined ? undefined : picked.get(place);
    if (place !== undefined && children !== undefined)
      stackSiblings(children, index.children[place] ?? [], place, drawn.length);
    drawn.push(next);
  }
  return drawn;
}
