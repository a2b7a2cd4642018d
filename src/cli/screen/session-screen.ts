/**
 * Shows runs as they happen. On a terminal: the rows of each turn, those that may change below the others. In a pipe: the
 * answers. Steps go to standard error and the answer to standard output: a terminal shows only what goes to it.
 */
import { createLoomReceiver, type SessionView, type TurnView } from "../../client/index.ts";
import type { EventOf, EventRecord } from "../../protocol/index.ts";
import { isForkNotice, isNextAttempt, isTerminal } from "../../protocol/record.ts";
import { cleanText, cutColumns } from "../fit-text.ts";
import type { Terminal } from "../terminal.ts";
import { AnswerText } from "./answer-text.ts";
import { summarizeThoughts } from "./thought-rows.ts";
import { keepLastRows, TurnRows } from "./turn-rows.ts";
import { TurnWriter } from "./turn-writer.ts";

export interface SessionScreenOptions {
  /** One run whose message was just entered: it is left out. Default: false, all runs of a session. */
  readonly isOneRun?: boolean;
}

/** Columns of the reason of a failed run, over several lines. */
export const MAX_REASON = 4000;
/** Shortest time between two drawings, in milliseconds: a fast model sends many tokens per second. */
const DRAW_MS = 50;
const LEAST_COLUMNS = 20;

/** The turn that is being shown. */
interface ShownTurn {
  readonly key: string;
  readonly writer: TurnWriter;
  readonly answer: AnswerText;
}

export class SessionScreen {
  readonly #terminal: Terminal;
  readonly #isOneRun: boolean;
  // Earlier turns have been shown. One more is kept: a message may be queued before the last run has ended.
  readonly #receiver = createLoomReceiver({ notify: "sync", limits: { maxTurns: 2 } });
  readonly #source = this.#receiver.open({ dialect: "loom" });
  #turn: ShownTurn | undefined;
  #lastKey: string | undefined;
  #hasShown = false;
  #rows: TurnRows | undefined;
  /** Lines held back while a prompt is shown. */
  #held: string[] | undefined;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(terminal: Terminal, { isOneRun = false }: SessionScreenOptions = {}) {
    this.#terminal = terminal;
    this.#isOneRun = isOneRun;
  }

  /** The rows of a failed run say why it failed. */
  get showsFailures(): boolean {
    return this.#terminal.errorColumns !== undefined;
  }

  /** Throws `OutputClosed` if standard output was closed. */
  async show({
    envelope: { event_id: _id, prev_event_id: _previous, ...envelope },
    event,
  }: EventRecord): Promise<void> {
    if (event.type === "run_start") await this.#write(true);
    // Records come in order. Without a number, none is awaited.
    this.#source.pushRecord({ envelope, event });
    if (event.type === "error") this.#noteAttempt(event as EventOf<"error">);
    if (isTerminal(event)) await this.#write(true);
    else if (event.type === "run_start" || event.type === "node_exit") await this.#write(false);
    else this.#drawSoon();
    await this.#writing;
  }

  /** Writes a line to standard error. */
  line(text: string): void {
    if (this.#held !== undefined) this.#held.push(text);
    else {
      this.#terminal.warn(text);
      this.#drawSoon();
    }
  }

  /** Holds back all output until `release`, while a prompt is shown. */
  hold(): void {
    this.#draw(false);
    this.#held ??= [];
    this.#terminal.live([]);
  }

  async release(): Promise<void> {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const text of held) this.line(text);
    await this.#write(false);
  }

  /** Shows what has not ended as it is, and ends the last line. */
  async end(): Promise<void> {
    await this.#write(true);
  }

  /** Other terminals show it with the rows. */
  #noteAttempt(error: EventOf<"error">): void {
    if (!isNextAttempt(error)) return;
    const isFork = isForkNotice(error);
    if (!isFork && this.showsFailures) return;
    const what = isFork
      ? "continues from a checkpoint"
      : `interrupted; running the step again (attempt ${error.attempt})`;
    this.line(this.#terminal.styleError("dim", what));
  }

  #drawSoon(): void {
    const { columns, errorColumns } = this.#terminal;
    if (columns === undefined && errorColumns === undefined) return;
    this.#timer ??= setTimeout(() => this.#draw(false), DRAW_MS).unref();
  }

  async #write(isOver: boolean): Promise<void> {
    const { columns } = this.#terminal;
    const turn = this.#find();
    if (turn !== undefined && columns === undefined) {
      const { answer } = this.#turn as ShownTurn;
      await this.#terminal.write(answer.next(turn, this.#todoLists, isOver));
    }
    this.#draw(isOver);
    await this.#writing;
    if (!isOver || turn === undefined || this.#held !== undefined) return;
    if (!this.#isOneRun && !this.showsFailures) this.#explain(turn);
    this.#lastKey = turn.key;
    this.#turn = undefined;
  }

  get #session(): SessionView | undefined {
    return this.#receiver.peek(this.#source.current);
  }

  get #todoLists(): SessionView["todoLists"] {
    return this.#session?.todoLists ?? [];
  }

  /** Returns the turn to show; undefined if there is none, or it was shown to its end. */
  #find(): TurnView | undefined {
    const turn = this.#session?.turns.at(-1);
    if (turn === undefined || turn.key === this.#lastKey) return undefined;
    if (turn.key === this.#turn?.key) return turn;
    const { columns, errorColumns } = this.#terminal;
    const only = errorColumns === undefined ? "answer" : columns === undefined ? "steps" : undefined;
    const writer = new TurnWriter({ skipsMessage: this.#isOneRun || columns === undefined, only, showsThoughts: true });
    this.#turn = { key: turn.key, writer, answer: new AnswerText({ hasLists: errorColumns === undefined }) };
    if (columns === undefined && !this.#isOneRun) this.#writing = this.#writeMessage(turn);
    return turn;
  }

  /** Writes the message of the user to a pipe. */
  async #writeMessage({ messages }: TurnView): Promise<void> {
    const message = messages.find(({ role }) => role === "user")?.mainContent ?? "";
    const gap = this.#hasShown ? "\n" : "";
    this.#hasShown = true;
    if (message === "") return;
    const lines = message.split("\n").map((line) => cleanText(line));
    await this.#terminal.write(`${gap}› ${lines.join("\n  ")}\n`);
  }

  #draw(isOver: boolean): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const { columns = this.#terminal.errorColumns, liveHeight } = this.#terminal;
    const turn = this.#find();
    if (columns === undefined || turn === undefined || this.#turn === undefined || this.#held !== undefined) return;
    const width = Math.max(LEAST_COLUMNS, columns - 1);
    const paint = this.#terminal.columns === undefined ? this.#terminal.styleError : this.#terminal.style;
    if (this.#rows?.width !== width) this.#rows = new TurnRows({ width, paint });
    const { settled, open } = this.#turn.writer.next(turn, this.#todoLists, this.#rows, isOver);
    if (settled.length > 0) this.#print(`${settled.join("\n")}\n`);
    const thoughts = isOver ? undefined : summarizeThoughts(turn);
    const summary = thoughts === undefined ? [] : [paint("cyan", cutColumns(thoughts.replaceAll(/\s+/g, " "), width))];
    this.#terminal.live(keepLastRows([...open, ...summary], liveHeight, { width, paint }));
  }

  #print(text: string): void {
    if (this.#terminal.columns === undefined) this.#terminal.writeError(text);
    else {
      this.#writing = this.#terminal.write(text);
      // Thrown by the next call that waits for it.
      this.#writing.catch(() => undefined);
    }
  }

  /** Says how the run ended if it did not complete. */
  #explain({ status, reason, code }: TurnView): void {
    if (status === "completed" || status === "running") return;
    const cause = code === undefined || code === status ? "" : ` (${cleanText(code)})`;
    const why = reason === undefined ? "" : `: ${cutColumns(reason, MAX_REASON)}`;
    this.line(`run ${status}${cause}${why}`);
  }
}
