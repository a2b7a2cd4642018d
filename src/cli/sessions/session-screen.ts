/** Shows a session on a terminal: messages of the user, and each run as `loom run` shows it. */
import type { EventOf, EventRecord } from "../../protocol/index.ts";
import { isTerminal } from "../../protocol/record.ts";
import { cleanText } from "../fit-text.ts";
import { RunScreen } from "../run/run-screen.ts";
import type { Terminal } from "../terminal.ts";

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
    if (isTerminal(event)) await this.#run.end();
  }

  /** Writes a line to standard error. */
  line(text: string): void {
    this.#run.line(text);
  }

  /** Ends the current line. */
  async end(): Promise<void> {
    await this.#run.end();
  }

  async #start({ message = "" }: EventOf<"run_start">): Promise<void> {
    this.#run = new RunScreen(this.#terminal);
    const gap = this.#hasShown ? "\n" : "";
    if (message === "") return;
    const lines = message.split("\n").map((line) => cleanText(line));
    await this.#terminal.write(`${gap}${this.#terminal.style("bold", `› ${lines.join("\n  ")}`)}\n`);
  }
}
