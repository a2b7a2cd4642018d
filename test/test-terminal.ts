/** A terminal for tests: what a user sees after sequences that move the cursor. */
import { measureColumns } from "../src/cli/fit-text.ts";
import { splitGraphemes } from "../src/cli/screen/text-rows.ts";

/** A terminal that understands the sequences which the screen writes, and rejects others. */
export class TestTerminal {
  columns: number;
  readonly rows: number;
  /** All lines, including those that were scrolled out. */
  lines: string[][] = [[]];
  row = 0;
  column = 0;
  writes = 0;

  readonly #measure: (character: string) => number;

  constructor(columns: number, rows: number, measure: (character: string) => number = measureColumns) {
    this.columns = columns;
    this.rows = rows;
    this.#measure = measure;
  }

  write = (text: string): boolean => {
    this.writes++;
    for (const [part] of text.matchAll(/\p{Cc}\[[?>=<]?[\d;]*[A-Za-z]|\n|\r|[^\p{Cc}]+/gu)) this.#take(part);
    return true;
  };

  get shown(): readonly string[] {
    return this.lines.map((line) => line.join("").trimEnd());
  }

  /** First line of the window. */
  get #top(): number {
    return Math.max(0, this.lines.length - this.rows);
  }

  #take(part: string): void {
    const [, mode = "", count = "", kind = ""] = /^\p{Cc}\[([?>=<]?)([\d;]*)([A-Za-z])$/u.exec(part) ?? [];
    const by = Number(count === "" ? 1 : count);
    if (part === "\n") this.#newLine();
    else if (part === "\r") this.column = 0;
    else if (mode !== "" || kind === "m") return;
    else if (kind === "") this.#put(part);
    else if (kind === "A") this.row = Math.max(this.#top, this.row - by);
    else if (kind === "B") this.row = Math.min(this.lines.length - 1, this.row + by);
    else if (kind === "G") this.column = by - 1;
    else if (kind === "K")
      this.lines[this.row] = count === "2" ? [] : (this.lines[this.row] ?? []).slice(0, this.column);
    else if (kind === "J") this.lines.splice(this.row, Infinity, (this.lines[this.row] ?? []).slice(0, this.column));
    else throw new Error(`unexpected sequence ${JSON.stringify(part)}`);
  }

  #newLine(): void {
    this.row++;
    this.column = 0;
    if (this.row === this.lines.length) this.lines.push([]);
  }

  #put(text: string): void {
    for (const character of splitGraphemes(text)) {
      const columns = this.#measure(character);
      if (this.column + columns > this.columns) this.#newLine();
      const line = (this.lines[this.row] ??= []);
      while (line.length < this.column) line.push(" ");
      line.splice(this.column, columns, character, ...Array.from({ length: columns - 1 }, () => ""));
      this.column += columns;
    }
  }
}
