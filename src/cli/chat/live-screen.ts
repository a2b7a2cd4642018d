/**
 * Draws the chat on a terminal: rows that stay, and below them live rows that are replaced, with the cursor in the
 * input. One change is one write.
 *
 * Invariant: live rows are never higher than the window, so that rows which stay are never drawn over.
 */
import { stripVTControlCharacters } from "node:util";
import { type CursorPosition, LiveRows } from "../live-rows.ts";
import { splitAtColumn } from "../screen/text-rows.ts";
import { ENTER_INPUT, LEAVE_INPUT } from "./input-keys.ts";

export type ScreenOutput = Pick<NodeJS.WriteStream, "write" | "columns" | "rows">;

/** Terminals that know these sequences show all of a change at once. */
const BEGIN_UPDATE = "\u001B[?2026h";
const END_UPDATE = "\u001B[?2026l";

export class LiveScreen implements Disposable {
  readonly #output: ScreenOutput;
  readonly #rows = new LiveRows();
  #isSuspended = false;
  #isClosed = false;

  constructor(output: ScreenOutput) {
    this.#output = output;
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

  /** Writes rows that stay above the live rows, and draws these again. There is at least one live row. */
  print(stay: readonly string[], live: readonly string[], cursor: CursorPosition): void {
    if (this.#isClosed) return;
    const drawn = this.#rows.replace(live, this.width + 1, stay);
    // The terminal finds the column after characters whose width is not certain, if they are written again.
    const { start, rest } = splitAtColumn(stripVTControlCharacters(live[cursor.row] ?? ""), cursor.column);
    const moved = `${this.#rows.moveTo(cursor)}\u001B[${start + 1}G${rest}`;
    this.#output.write(`${BEGIN_UPDATE}${drawn}${moved}${END_UPDATE}`);
  }

  /** Clears the window. */
  clear(): void {
    this.#rows.forget();
    this.#output.write("\u001B[2J\u001B[H");
  }

  /** Sets the modes of the terminal again after the process was stopped. The shell may have written rows since then. */
  resume(): void {
    if (this.#isClosed) return;
    this.#rows.forget();
    this.#output.write(`${this.#isSuspended ? "" : LEAVE_INPUT}${ENTER_INPUT}\r\u001B[J`);
    this.#isSuspended = false;
  }

  /** Removes the live rows and restores the modes of the terminal, until `resume`. */
  suspend(): void {
    if (this.#isClosed) return;
    const erased = this.#rows.replace([], this.width + 1);
    // `LEAVE_INPUT` removes modes from a stack of the terminal, so it may be written only once.
    this.#output.write(`${erased}${this.#isSuspended ? "" : LEAVE_INPUT}`);
    this.#isSuspended = true;
  }

  [Symbol.dispose](): void {
    this.suspend();
    this.#isClosed = true;
  }
}
