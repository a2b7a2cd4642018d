/**
 * Assigns graph nodes to layers: a node is to the right of its dependencies, by the longest path. The nodes of an
 * expansion come before the dependents of the expanded node. Cycles are allowed: the edge that closes one is ignored.
 */
import type { GraphView } from "../../client/index.ts";

export interface GraphIndex {
  readonly ids: readonly string[];
  readonly indexById: ReadonlyMap<string, number>;
  /** Edges between known nodes, without duplicates and self-loops. */
  readonly edges: readonly (readonly [from: number, to: number])[];
  readonly layers: Int32Array;
}

/** Maximum ordering constraints from expansions; beyond it, only the edges decide. */
const MAX_ADDED = 4096;

export function indexGraph({ nodes, edges, expansions }: GraphView): GraphIndex {
  const indexById = new Map<string, number>();
  const ids: string[] = [];
  for (const { id } of nodes) {
    if (!indexById.has(id)) indexById.set(id, ids.length);
    ids.push(id);
  }
  const after: number[][] = ids.map(() => []);
  const seen = new Set<number>();
  const kept: [number, number][] = [];
  for (const [fromId, toId] of edges) {
    const from = indexById.get(fromId);
    const to = indexById.get(toId);
    if (from === undefined || to === undefined || from === to || seen.has(from * ids.length + to)) continue;
    seen.add(from * ids.length + to);
    kept.push([from, to]);
    after[from]?.push(to);
  }
  const order = orderExpansions(expansions, indexById, after);
  for (const [from, to] of order) after[from]?.push(to);
  return { ids, indexById, edges: kept, layers: findLayers(after) };
}

/** Dependents of an expanded node wait for the last nodes of its expansion. */
function orderExpansions(
  expansions: GraphView["expansions"],
  indexById: ReadonlyMap<string, number>,
  after: readonly (readonly number[])[],
): [number, number][] {
  const order: [number, number][] = [];
  for (const { nodeId, nodes } of expansions) {
    const expanded = indexById.get(nodeId);
    if (expanded === undefined) continue;
    const members = new Set(nodes.flatMap((id) => indexById.get(id) ?? []));
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

/** Longest paths in reverse finishing order of a depth-first search that skips back edges. */
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
