/**
 * Rows at the bottom of a terminal that are replaced while they are shown. It returns the sequences to write, and does
 * not know the terminal itself.
 *
 * Invariant: no row is wider than the terminal was when it was written, and all of them fit its height.
 */
import { measureColumns } from "./fit-text.ts";

/** Position in rows. The column is that of a terminal that shows the parts of an emoji apart. */
export interface CursorPosition {
  readonly row: number;
  readonly column: number;
}

const START: CursorPosition = { row: 0, column: 0 };

export class LiveRows {
  #rows: readonly string[] = [];
  #cursor = START;
  /** Columns of the terminal when the rows were written. */
  #columns = 0;

  get isEmpty(): boolean {
    return this.#rows.length === 0;
  }

  /** Forgets the rows, which the terminal does not show any more. */
  forget(): void {
    this.#rows = [];
    this.#cursor = START;
  }

  /**
   * Returns the sequence that shows other rows, and rows above them that stay. The cursor is then behind the last row,
   * unless nothing changed. Equal rows at the top are not written again.
   */
  replace(rows: readonly string[], columns: number, stay: readonly string[] = []): string {
    const last = Math.min(this.#rows.length, rows.length) - 1;
    const changed = rows.findIndex((row, index) => row !== this.#rows[index]);
    const isKept = stay.length === 0 && columns === this.#columns;
    if (isKept && changed === -1 && rows.length === this.#rows.length) return "";
    const first = isKept ? Math.max(0, changed === -1 ? last : Math.min(changed, last)) : 0;
    const erased = this.#eraseFrom(first, columns);
    this.#rows = rows;
    this.#columns = columns;
    this.#cursor = { row: Math.max(0, rows.length - 1), column: measureColumns(rows.at(-1) ?? "") };
    return `${erased}${[...stay, ...rows.slice(first)].join("\n")}`;
  }

  /** Returns the sequence that moves the cursor to another row. The caller moves it to the column. */
  moveTo(cursor: CursorPosition): string {
    const sequence = move(cursor.row - this.#cursor.row);
    this.#cursor = cursor;
    return sequence;
  }

  /** If the window became narrower, the terminal has wrapped the rows. */
  #eraseFrom(first: number, columns: number): string {
    if (this.isEmpty) return "";
    const heights = this.#rows.map((row) => Math.max(1, Math.ceil(measureColumns(row) / columns)));
    const sum = (all: readonly number[]): number => all.reduce((total, height) => total + height, 0);
    const { row, column } = this.#cursor;
    const inRow = Math.min(Math.floor(column / columns), (heights[row] ?? 1) - 1);
    const below = sum(heights.slice(row)) - 1 - inRow;
    // Row by row, because some terminals move a screen that is erased at once to their scrollback.
    return `${move(below)}\r\u001B[K${"\u001B[A\u001B[K".repeat(sum(heights.slice(first)) - 1)}`;
  }
}

/** Moves the cursor down, or up. */
function move(rows: number): string {
  if (rows === 0) return "";
  return rows > 0 ? `\u001B[${rows}B` : `\u001B[${-rows}A`;
}
