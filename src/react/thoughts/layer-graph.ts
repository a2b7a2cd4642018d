/**
 * Gives the nodes of a graph layers: whoever needs another stands to the right of it, as near as the longest way to it
 * allows. What a node was expanded into stands before those that wait for the node. Circles are tolerated: the edge that
 * closes one counts for nothing here.
 */
import type { GraphView } from "../../client/index.ts";

export interface GraphIndex {
  readonly ids: readonly string[];
  readonly places: ReadonlyMap<string, number>;
  /** Edges between nodes that are there, each once, none to itself. */
  readonly edges: readonly (readonly [from: number, to: number])[];
  readonly layers: Int32Array;
}

/** Orders that an expansion may add: beyond, its nodes stand where their edges put them. */
const MAX_ADDED = 4096;

export function indexGraph({ nodes, edges, expansions }: GraphView): GraphIndex {
  const places = new Map<string, number>();
  const ids: string[] = [];
  for (const { id } of nodes) {
    if (!places.has(id)) places.set(id, ids.length);
    ids.push(id);
  }
  const after: number[][] = ids.map(() => []);
  const seen = new Set<number>();
  const kept: [number, number][] = [];
  for (const [fromId, toId] of edges) {
    const from = places.get(fromId);
    const to = places.get(toId);
    if (from === undefined || to === undefined || from === to || seen.has(from * ids.length + to)) continue;
    seen.add(from * ids.length + to);
    kept.push([from, to]);
    after[from]?.push(to);
  }
  const order = orderExpansions(expansions, places, after);
  for (const [from, to] of order) after[from]?.push(to);
  return { ids, places, edges: kept, layers: findLayers(after) };
}

/** Whoever waits for a node that was expanded waits for the ends of what it was expanded into. */
function orderExpansions(
  expansions: GraphView["expansions"],
  places: ReadonlyMap<string, number>,
  after: readonly (readonly number[])[],
): [number, number][] {
  const order: [number, number][] = [];
  for (const { nodeId, nodes } of expansions) {
    const expanded = places.get(nodeId);
    if (expanded === undefined) continue;
    const members = new Set(nodes.flatMap((id) => places.get(id) ?? []));
    const waiting = (after[expanded] ?? []).filter((to) => !members.has(to));
    const ends = [...members].filter((member) => !(after[member] ?? []).some((to) => members.has(to)));
    for (const end of ends)
      for (const to of waiting) {
        if (order.length >= MAX_ADDED) return order;
        if (end !== to) order.push([end, to]);
      }
  }
  return order;
}

/** Longest ways, found from the ends of a walk through the whole graph that passes over the edges that lead back. */
function findLayers(after: readonly (readonly number[])[]): Int32Array {
  const OPEN = 1;
  const DONE = 2;
  const states = new Uint8Array(after.length);
  const heads = new Int32Array(after.length);
  const finished: number[] = [];
  const back = new Set<number>();
  for (let start = 0; start < after.length; start++) {
    if (states[start] !== 0) continue;
    const stack = [start];
    states[start] = OPEN;
    while (stack.length > 0) {
      const at = stack.at(-1) as number;
      const to = after[at]?.[heads[at] as number];
      heads[at] = (heads[at] as number) + 1;
      if (to === undefined) {
        states[at] = DONE;
        finished.push(at);
        stack.pop();
      } else if (states[to] === OPEN) back.add(at * after.length + to);
      else if (states[to] === 0) {
        states[to] = OPEN;
        stack.push(to);
      }
    }
  }
  const layers = new Int32Array(after.length);
  for (const from of finished.toReversed())
    for (const to of after[from] ?? [])
      if (!back.has(from * after.length + to))
        layers[to] = Math.max(layers[to] as number, (layers[from] as number) + 1);
  return layers;
}
