/**
 * Places things in a row as near to where they would like to be as their order and their sizes allow: the sum of the
 * squares of how far they miss it is the least there is. Neighbours that press on each other become a block, which stands
 * at the mean of what its members wish.
 */
export interface Wish {
  /** Of its middle; undefined: anywhere. */
  readonly middle: number | undefined;
  readonly size: number;
}

interface Block {
  /** Of what its members wish for the block's beginning. */
  sum: number;
  weight: number;
  readonly first: number;
}

/** Who has no wish goes where the others leave room, and weighs next to nothing. */
const LIGHT = 1e-3;

/** The middles, in the order given. */
export function placeInOrder(wishes: readonly Wish[]): number[] {
  const offsets: number[] = [];
  const blocks: Block[] = [];
  let offset = 0;
  let before = 0;
  for (const [at, { middle, size }] of wishes.entries()) {
    // Distances along the row, as if all stood side by side: in these a place may not be less than the one before it.
    offset += at === 0 ? 0 : (before + size) / 2;
    before = size;
    offsets.push(offset);
    const weight = middle === undefined ? LIGHT : 1;
    const last = blocks.at(-1);
    const place = middle === undefined ? (last === undefined ? 0 : last.sum / last.weight) : middle - offset;
    let block: Block = { sum: place * weight, weight, first: at };
    for (let previous = blocks.at(-1); previous !== undefined; previous = blocks.at(-1)) {
      if (previous.sum / previous.weight < block.sum / block.weight) break;
      blocks.pop();
      block = { sum: previous.sum + block.sum, weight: previous.weight + block.weight, first: previous.first };
    }
    blocks.push(block);
  }
  const middles: number[] = [];
  for (const [at, block] of blocks.entries()) {
    const end = blocks[at + 1]?.first ?? wishes.length;
    for (let each = block.first; each < end; each++) middles.push(block.sum / block.weight + (offsets[each] as number));
  }
  return middles;
}
