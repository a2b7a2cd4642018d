/**
 * A copy of a piece of text that stands for itself. An engine may keep a piece as a view into the whole it was cut from;
 * kept pieces of a text that grows would each keep another whole.
 */
export function detachText(piece: string): string {
  // Joined and cut again: what it was cut from before is not part of it any more.
  return ` ${piece}`.slice(1);
}
