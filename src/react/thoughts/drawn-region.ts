/** The rendered region of a drawing: the visible area and a margin. */
export interface Region {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

/** Used until the first measurement. */
export const INITIAL_REGION: Region = { left: 0, top: 0, right: 2000, bottom: 1200 };

export function contains(outer: Region, inner: Region): boolean {
  return (
    outer.left <= inner.left && outer.top <= inner.top && outer.right >= inner.right && outer.bottom >= inner.bottom
  );
}

export function intersects(a: Region, b: Region): boolean {
  return a.left <= b.right && a.right >= b.left && a.top <= b.bottom && a.bottom >= b.top;
}

export function widen({ left, top, right, bottom }: Region, by: number): Region {
  return { left: left - by, top: top - by, right: right + by, bottom: bottom + by };
}

/** Returns the offset that shows the range with a margin; unchanged if it is visible already. May be negative. */
export function reveal(begin: number, view: number, from: number, to: number, margin: number): number {
  if (to - from + 2 * margin > view || from - margin < begin) return from - margin;
  if (to + margin > begin + view) return to + margin - view;
  return begin;
}
