/**
 * Draws the chat on a terminal: rows that stay, and below them live rows that are replaced. `log-update` writes only the
 * rows that changed; this module adds the cursor in the input.
 *
 * Invariant: live rows are never higher than the window, so that rows which stay are never drawn over.
 */
import { measureColumns } from "../fit-text.ts";
import { createLogUpdate } from "log-update";
import type { CursorPosition } from "./input-editor.ts";
import { ENTER_INPUT, LEAVE_INPUT } from "./input-keys.ts";
import { splitAtColumn } from "../screen/text-rows.ts";
import { stripVTControlCharacters } from "node:util";

export type ScreenOutput = Pick<NodeJS.WriteStream, "write" | "columns" | "rows">;

export class LiveScreen implements Disposable {
  readonly #output: ScreenOutput;
  readonly #update: ReturnType<typeof createLogUpdate>;
  #buffer = "";
  #rows: readonly string[] = [];
  /** Position of the cursor in the live rows; undefined below them. */
  #cursor: CursorPosition | undefined;
  #columns: number;
  #isSuspended = false;
  #isClosed = false;

  constructor(output: ScreenOutput) {
    this.#output = output;
    this.#columns = output.columns;
    // Collects what is written, so that one change is one write.
    const collector = {
      isTTY: true,
      get columns() {
        return output.columns;
      },
      get rows() {
        return output.rows;
      },
      write: (text: string) => {
        this.#buffer += text;
        return true;
      },
    };
    this.#update = createLogUpdate(collector as unknown as NodeJS.WriteStream, { showCursor: true });
    output.write(ENTER_INPUT);
  }

  /** Columns for rows; the last one stays free, because some terminals wrap there. */
  get width(): number {
    return Math.max(10, (this.#output.columns || 80) - 1);
  }

  /** Maximum number of live rows. */
  get height(): number {
    return Math.max(4, (this.#output.rows || 24) - 1);
  }

  /** Writes rows that stay above the live rows, and draws these again. */
  print(stay: readonly string[], live: readonly string[], cursor: CursorPosition): void {
    if (this.#isClosed) return;
    this.#leave();
    if (stay.length > 0) this.#update.persist(`${stay.join("\n")}\n`);
    this.#draw(live, cursor);
  }

  draw(live: readonly string[], cursor: CursorPosition): void {
    this.print([], live, cursor);
  }

  /** Erases the live rows after the window got another size. The terminal has wrapped them again. */
  reset(): void {
    if (this.#isClosed) return;
    const { columns } = this.#output;
    const heights = this.#rows.map((row) => countRows(row, columns));
    const { row, column } = this.#cursor ?? { row: this.#rows.length, column: 0 };
    const above = heights.slice(0, row).reduce((sum, height) => sum + height, 0) + Math.floor(column / columns);
    if (columns < this.#columns) {
      this.#buffer += `${above === 0 ? "" : `\u001B[${above}A`}\r\u001B[J`;
      this.#update.done();
      this.#rows = [];
      this.#cursor = undefined;
      this.#flush();
    }
    this.#columns = columns;
  }

  /** Clears the window. */
  clear(): void {
    this.#update.done();
    this.#buffer = "\u001B[2J\u001B[H";
    this.#rows = [];
    this.#cursor = undefined;
    this.#flush();
  }

  /** Sets the modes of the terminal again after the process was stopped. The shell may have written rows since then. */
  resume(): void {
    if (this.#isClosed) return;
    this.#update.done();
    this.#buffer = `${this.#isSuspended ? "" : LEAVE_INPUT}${ENTER_INPUT}\r\u001B[J`;
    this.#isSuspended = false;
    this.#rows = [];
    this.#cursor = undefined;
    this.#flush();
  }

  /** Removes the live rows and restores the modes of the terminal, until `resume`. */
  suspend(): void {
    if (this.#isClosed) return;
    this.#leave();
    this.#update.clear();
    // `LEAVE_INPUT` removes modes from a stack of the terminal, so it may be written only once.
    this.#buffer += `${this.#isSuspended ? "" : LEAVE_INPUT}\u001B[?25h\u001B[?2026l`;
    this.#flush();
    this.#isSuspended = true;
  }

  [Symbol.dispose](): void {
    this.suspend();
    this.#isClosed = true;
  }

  #draw(live: readonly string[], cursor: CursorPosition): void {
    this.#rows = live;
    this.#update(live.join("\n"));
    const up = live.length - cursor.row;
    // The terminal finds the column after characters whose width is not certain, if they are written again.
    const { start, rest } = splitAtColumn(stripVTControlCharacters(live[cursor.row] ?? ""), cursor.column);
    this.#buffer += `${up <= 0 ? "" : `\u001B[${up}A`}\u001B[${start + 1}G${rest}`;
    this.#cursor = cursor;
    this.#flush();
  }

  /** Moves the cursor below the live rows, where `log-update` expects it. */
  #leave(): void {
    if (this.#cursor === undefined) return;
    const down = this.#rows.length - this.#cursor.row;
    this.#buffer += `${down <= 0 ? "" : `\u001B[${down}B`}\r`;
    this.#cursor = undefined;
  }

  #flush(): void {
    const text = this.#buffer;
    this.#buffer = "";
    if (text !== "") this.#output.write(text);
  }
}

function countRows(row: string, columns: number): number {
  return Math.max(1, Math.ceil(measureColumns(stripVTControlCharacters(row)) / columns));
}
