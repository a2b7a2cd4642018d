/**
 * Layered graph layout, left to right. Edges that skip layers get a small slot in each, so they run between nodes and
 * not across them.
 *
 * Invariants: slots in a layer do not overlap; the layout is deterministic; given the previous layout, nodes that stay
 * in the same layer keep their order.
 */
import type { GraphView } from "../../client/index.ts";
import { type GraphIndex, indexGraph } from "./layer-graph.ts";

export interface GraphLine {
  readonly from: number;
  readonly to: number;
  /** Rows where the edge passes the layers in between, from left to right. */
  readonly bends: readonly number[];
}

export interface GraphLayout {
  readonly index: GraphIndex;
  readonly columns: Int32Array;
  /** From 0; may be fractional. */
  readonly rows: Float64Array;
  readonly rowCount: number;
  readonly columnCount: number;
  readonly lines: readonly GraphLine[];
  /** Rows of passing edges, by ends and layer. */
  readonly passes: ReadonlyMap<string, number>;
}

/** Space in a layer, taken by a node or a passing edge. */
interface Slot {
  readonly layer: number;
  readonly size: number;
  readonly before: Slot[];
  readonly after: Slot[];
  /** Row in the previous layout. */
  readonly oldRow: number | undefined;
  row: number;
}

const PASS_SIZE = 0.3;
/** Maximum slots for passing edges; further edges run straight. */
const MAX_PASSES = 4000;
const ORDER_SWEEPS = 4;

export function layoutGraph(graph: GraphView, before?: GraphLayout): GraphLayout {
  const index = indexGraph(graph);
  const { layers: columns, ids } = index;
  const layers: Slot[][] = [];
  const add = (layer: number, size: number, oldRow: number | undefined): Slot => {
    const slot: Slot = { layer, size, before: [], after: [], oldRow, row: 0 };
    (layers[layer] ??= []).push(slot);
    return slot;
  };
  const nodes = ids.map((id, place) =>
    add(columns[place] as number, 1, before?.index.ids[place] === id ? before.rows[place] : undefined),
  );
  const chains = chainEdges(index, nodes, (key, layer) => ({
    key,
    slot: add(layer, PASS_SIZE, before?.passes.get(key)),
  }));
  // Every layer has at least one node, so `layers` has no holes.
  if (before === undefined) orderFromScratch(layers);
  else orderKeepingPrevious(layers);
  placeRows(layers);
  const passes = new Map<string, number>();
  const lines = chains.map(({ from, to, passed }) => {
    for (const { key, slot } of passed) passes.set(key, slot.row);
    return { from, to, bends: passed.map(({ slot }) => slot.row) };
  });
  const rows = Float64Array.from(nodes, ({ row }) => row);
  const rowCount = layers.flat().reduce((most, { row, size }) => Math.max(most, row + size / 2 + 0.5), 0);
  return { index, columns, rows, rowCount, columnCount: layers.length, lines, passes };
}

interface Pass {
  readonly key: string;
  readonly slot: Slot;
}

function chainEdges(
  { edges, layers }: GraphIndex,
  nodes: readonly Slot[],
  addPass: (key: string, layer: number) => Pass,
): { from: number; to: number; passed: Pass[] }[] {
  let left = MAX_PASSES;
  return edges.map(([from, to]) => {
    const first = layers[from] as number;
    const last = layers[to] as number;
    const passed: Pass[] = [];
    // An edge that closes a cycle leads back and takes no slots.
    if (last <= first) return { from, to, passed };
    let slot = nodes[from] as Slot;
    for (let layer = first + 1; layer < last && left > 0; layer++, left--) {
      const pass = addPass(`${from} ${to} ${layer}`, layer);
      passed.push(pass);
      join(slot, pass.slot);
      slot = pass.slot;
    }
    if (slot.layer === last - 1) join(slot, nodes[to] as Slot);
    return { from, to, passed };
  });
}

function join(left: Slot, right: Slot): void {
  left.after.push(right);
  right.before.push(left);
}

/** Barycentre ordering in alternating sweeps; ties keep the original order. */
function orderFromScratch(layers: Slot[][]): void {
  for (const layer of layers) rank(layer);
  for (let sweep = 0; sweep < ORDER_SWEEPS; sweep++) {
    const isForward = sweep % 2 === 0;
    for (const layer of isForward ? layers : layers.toReversed())
      sortBy(layer, (slot) => findMean(isForward ? slot.before : slot.after) ?? slot.row);
  }
}

/** Known slots keep their order; new ones are inserted beside their neighbours. */
function orderKeepingPrevious(layers: Slot[][]): void {
  for (const layer of layers) for (const slot of layer) if (slot.oldRow !== undefined) slot.row = slot.oldRow;
  for (const layer of layers) {
    for (const slot of layer) {
      const known = slot.after.filter(({ oldRow }) => oldRow !== undefined);
      slot.row = slot.oldRow ?? findMean(slot.before) ?? findMean(known) ?? Infinity;
    }
    layer.sort((a, b) => compare(a.row, b.row));
    // Slots without neighbours go below the others.
    for (const [at, slot] of layer.entries()) if (slot.row === Infinity) slot.row = (layer[at - 1]?.row ?? -1) + 1;
  }
}

function sortBy(layer: Slot[], measure: (slot: Slot) => number): void {
  const measured = new Map(layer.map((slot) => [slot, measure(slot)]));
  layer.sort((a, b) => compare(measured.get(a) as number, measured.get(b) as number));
  rank(layer);
}

function compare(a: number, b: number): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function rank(layer: readonly Slot[]): void {
  for (const [at, slot] of layer.entries()) slot.row = at;
}

/** Assigns rows by the neighbours on the left, on the right, and on the left again. */
function placeRows(layers: readonly Slot[][]): void {
  const place = (layer: readonly Slot[], desired: (slot: Slot) => number | undefined): void => {
    const rows = placeInOrder(layer.map((slot) => ({ middle: desired(slot), size: slot.size })));
    for (const [at, slot] of layer.entries()) slot.row = rows[at] as number;
  };
  for (const layer of layers) place(layer, ({ before }) => findMean(before));
  for (const layer of layers.toReversed()) place(layer, ({ after, row }) => findMean(after) ?? row);
  for (const layer of layers) place(layer, ({ before, row }) => findMean(before) ?? row);
  const top = layers.flat().reduce((least, { row, size }) => Math.min(least, row + 0.5 - size / 2), Infinity);
  const shift = Number.isFinite(top) ? -top : 0;
  for (const layer of layers) for (const slot of layer) slot.row += shift;
}

function findMean(slots: readonly Slot[]): number | undefined {
  if (slots.length === 0) return undefined;
  let sum = 0;
  for (const { row } of slots) sum += row;
  return sum / slots.length;
}

interface DesiredPosition {
  /** Desired centre; undefined for anywhere. */
  readonly middle: number | undefined;
  readonly size: number;
}

interface PlacementBlock {
  /** Weighted sum of the desired block starts. */
  sum: number;
  weight: number;
  readonly first: number;
}

/** Items without a desired position hardly influence their block. */
const FREE_WEIGHT = 1e-3;

/**
 * Places items on a line as close to their desired positions as their order and sizes allow, minimizing the squared
 * distances (isotonic regression). Items that collide form a block at the mean of its members. Returns the centres in
 * the given order.
 */
export function placeInOrder(desired: readonly DesiredPosition[]): number[] {
  const offsets: number[] = [];
  const blocks: PlacementBlock[] = [];
  let offset = 0;
  let before = 0;
  for (const [at, { middle, size }] of desired.entries()) {
    // Relative to closely packed items, positions must not decrease.
    offset += at === 0 ? 0 : (before + size) / 2;
    before = size;
    offsets.push(offset);
    const weight = middle === undefined ? FREE_WEIGHT : 1;
    const last = blocks.at(-1);
    const start = middle === undefined ? (last === undefined ? 0 : last.sum / last.weight) : middle - offset;
    let block: PlacementBlock = { sum: start * weight, weight, first: at };
    for (let previous = blocks.at(-1); previous !== undefined; previous = blocks.at(-1)) {
      if (previous.sum / previous.weight < block.sum / block.weight) break;
      blocks.pop();
      block = { sum: previous.sum + block.sum, weight: previous.weight + block.weight, first: previous.first };
    }
    blocks.push(block);
  }
  const middles: number[] = [];
  for (const [at, block] of blocks.entries()) {
    const end = blocks[at + 1]?.first ?? desired.length;
    for (let each = block.first; each < end; each++) middles.push(block.sum / block.weight + (offsets[each] as number));
  }
  return middles;
}
