/** Shows a session on a terminal: messages of the user, and each run as `loom run` shows it. */
import type { EventOf, EventRecord } from "../../protocol/index.ts";
import { endsRun } from "../../protocol/record.ts";
import { cleanText, cutColumns, wrapText } from "../fit-text.ts";
import { MAX_REASON, RunScreen } from "../run/run-screen.ts";
import type { Terminal } from "../terminal.ts";
import { describeStatus } from "./run-sessions.ts";

export class SessionScreen {
  readonly #terminal: Terminal;
  #run: RunScreen;
  #hasShown = false;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
    this.#run = new RunScreen(terminal);
  }

  /** Throws `OutputClosed` if standard output was closed. */
  async show(record: EventRecord): Promise<void> {
    const { event } = record;
    if (event.type === "run_start") {
      await this.#run.end();
      await this.#start(event as EventOf<"run_start">);
    }
    await this.#run.show(record);
    this.#hasShown = true;
    if (!endsRun(event)) return;
    await this.#run.end();
    if (event.type === "run_end") this.#explain(event as EventOf<"run_end">);
  }

  /** Writes a line to standard error. */
  line(text: string): void {
    this.#run.line(text);
  }

  /** Ends the current line. */
  async end(): Promise<void> {
    await this.#run.end();
  }

  /** Says how the run ended if it did not complete; on a terminal, progress lines may have said it. */
  #explain({ status, reason, code }: EventOf<"run_end">): void {
    const isShown = status === "cancelled" || reason === undefined || this.#run.lastError === reason;
    if (this.#terminal.errorColumns !== undefined && isShown) return;
    const why = reason === undefined ? "" : `: ${cutColumns(reason, MAX_REASON)}`;
    const given = { status, ...(code === undefined ? {} : { code: cleanText(code) }) };
    this.line(wrapText(`run ${describeStatus(given)}${why}`, this.#terminal.errorColumns ?? Infinity, "  "));
  }

  async #start({ message = "" }: EventOf<"run_start">): Promise<void> {
    this.#run = new RunScreen(this.#terminal);
    const gap = this.#hasShown ? "\n" : "";
    if (message === "") return;
    const lines = message.split("\n").map((line) => cleanText(line));
    await this.#terminal.write(`${gap}${this.#terminal.style("bold", `› ${lines.join("\n  ")}`)}\n`);
  }
}
