/**
 * Draws turns on a terminal as they happen: rows that stay, and below them those that may change. It is loaded only for a
 * terminal.
 */
import type { TurnView } from "../../client/view.ts";
import { cutColumns } from "../fit-text.ts";
import type { Terminal } from "../terminal.ts";
import { summarizeThoughts } from "./thought-rows.ts";
import { keepLastRows, type ShownTodoLists, TurnRows } from "./turn-rows.ts";
import { TurnWriter } from "./turn-writer.ts";

const LEAST_COLUMNS = 20;

export class LiveTurns {
  readonly #terminal: Terminal;
  readonly #skipsMessage: boolean;
  #rows: TurnRows | undefined;
  #key: string | undefined;
  #writer = new TurnWriter();

  constructor(terminal: Terminal, { skipsMessage }: { readonly skipsMessage: boolean }) {
    this.#terminal = terminal;
    this.#skipsMessage = skipsMessage;
  }

  /** `isOver`: nothing of the turn changes any more. Resolves when the terminal takes more. */
  async draw(turn: TurnView, todoLists: ShownTodoLists, isOver: boolean): Promise<void> {
    const { columns, errorColumns, style, styleError, liveHeight } = this.#terminal;
    if (turn.key !== this.#key) {
      this.#key = turn.key;
      const only = errorColumns === undefined ? "answer" : columns === undefined ? "steps" : undefined;
      const skipsMessage = this.#skipsMessage || columns === undefined;
      this.#writer = new TurnWriter({ skipsMessage, only, showsThoughts: true });
    }
    const width = Math.max(LEAST_COLUMNS, (columns ?? errorColumns ?? 0) - 1);
    const paint = columns === undefined ? styleError : style;
    if (this.#rows?.width !== width) this.#rows = new TurnRows({ width, paint });
    const { settled, open } = this.#writer.next(turn, todoLists, this.#rows, isOver);
    const text = settled.length === 0 ? "" : `${settled.join("\n")}\n`;
    let written: Promise<void> | undefined;
    if (columns !== undefined) written = this.#terminal.write(text);
    else if (text !== "") this.#terminal.writeError(text);
    const thoughts = isOver ? undefined : summarizeThoughts(turn);
    const summary = thoughts === undefined ? [] : [paint("cyan", cutColumns(thoughts.replaceAll(/\s+/g, " "), width))];
    this.#terminal.live(keepLastRows([...open, ...summary], liveHeight, { width, paint }));
    await written;
  }
}
