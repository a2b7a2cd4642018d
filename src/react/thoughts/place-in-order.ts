/**
 * Places items on a line as close to their desired positions as their order and sizes allow, minimizing the squared
 * distances (isotonic regression). Items that collide form a block at the mean of its members.
 */
export interface DesiredPosition {
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

/** Returns the centres in the given order. */
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
