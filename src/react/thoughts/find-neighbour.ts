/** Where an arrow key leads in a drawing of columns. It knows neither trees nor graphs, only what is joined to what. */
export interface Spot {
  readonly column: number;
  readonly row: number;
  /** Positions of those it hangs from, to the left, and of those that hang from it. */
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

/** Left and right along what is joined, up and down within a column. The same position where there is nothing. */
export function findNeighbour(spots: readonly Spot[], from: number, key: MoveKey): number {
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

function findNearest(spots: readonly Spot[], among: readonly number[], row: number): number | undefined {
  let best: number | undefined;
  let distance = Infinity;
  for (const position of among) {
    const away = Math.abs((spots[position]?.row ?? Infinity) - row);
    if (away < distance) [best, distance] = [position, away];
  }
  return best;
}

function findInColumn(spots: readonly Spot[], { column, row }: Spot, way: 1 | -1): number | undefined {
  let best: number | undefined;
  let distance = Infinity;
  for (const [position, other] of spots.entries()) {
    const away = (other.row - row) * way;
    if (other.column === column && away > 0 && away < distance) [best, distance] = [position, away];
  }
  return best;
}
