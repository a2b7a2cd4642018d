/** Arrow-key navigation between boxes in columns. It does not know about trees or graphs. */
export interface GridItem {
  readonly column: number;
  readonly row: number;
  /** Indexes of the items joined on the left (`before`) and on the right (`after`). */
  readonly before: readonly number[];
  readonly after: readonly number[];
}

export type MoveKey = "ArrowUp" | "ArrowDown" | "ArrowLeft" | "ArrowRight" | "Home" | "End";

const MOVE_KEYS: ReadonlySet<string> = new Set<MoveKey>([
  "ArrowUp",
  "ArrowDown",
  "ArrowLeft",
  "ArrowRight",
  "Home",
  "End",
]);

export function isMoveKey(key: string): key is MoveKey {
  return MOVE_KEYS.has(key);
}

/** Left and right follow the lines, up and down stay in the column. Returns `from` if there is no neighbour. */
export function findNeighbour(spots: readonly GridItem[], from: number, key: MoveKey): number {
  const spot = spots[from];
  if (spot === undefined || key === "Home") return 0;
  switch (key) {
    case "End":
      return spots.length - 1;
    case "ArrowLeft":
      return findNearest(spots, spot.before, spot.row) ?? from;
    case "ArrowRight":
      return findNearest(spots, spot.after, spot.row) ?? from;
    default:
      return findInColumn(spots, spot, key === "ArrowUp" ? -1 : 1) ?? from;
  }
}

function findNearest(spots: readonly GridItem[], among: readonly number[], row: number): number | undefined {
  let best: number | undefined;
  let distance = Infinity;
  for (const position of among) {
    const away = Math.abs((spots[position]?.row ?? Infinity) - row);
    if (away < distance) [best, distance] = [position, away];
  }
  return best;
}

function findInColumn(spots: readonly GridItem[], { column, row }: GridItem, way: 1 | -1): number | undefined {
  let best: number | undefined;
  let distance = Infinity;
  for (const [position, other] of spots.entries()) {
    const away = (other.row - row) * way;
    if (other.column === column && away > 0 && away < distance) [best, distance] = [position, away];
  }
  return best;
}
