/**
 * Shows runs as they happen. On a terminal: the rows of each turn, those that may change below the others. In a pipe: the
 * answers. Steps go to standard error and the answer to standard output: a terminal shows only what goes to it.
 */
import type { Receiver } from "../../client/receiver.ts";
import type { Source } from "../../client/source.ts";
import type { SessionView, TurnView } from "../../client/view.ts";
import type { EventOf, EventRecord } from "../../protocol/index.ts";
import { isForkNotice, isNextAttempt, isTerminal } from "../../protocol/record.ts";
import { cleanText, cutColumns } from "../fit-text.ts";
import type { Terminal } from "../terminal.ts";
import { PipedAnswer } from "./piped-answer.ts";
import type { LiveTurns } from "./live-turns.ts";

export interface SessionScreenOptions {
  /** One run whose message was just entered: it is left out. Default: false, all runs of a session. */
  readonly isOneRun?: boolean;
}

/** Columns of the reason of a failed run, over several lines. */
export const MAX_REASON = 4000;
/** Shortest time between two drawings, in milliseconds: a fast model sends many tokens per second. */
const DRAW_MS = 50;
/** Events that add to what a pipe gets when their step has ended. */
const ANSWERS: readonly string[] = ["message_chunk", "todo_list", "todo_update"];

/** What was received, and how it is shown. */
interface OpenView {
  readonly receiver: Receiver;
  readonly source: Source;
  readonly live: LiveTurns | undefined;
}

export class SessionScreen {
  readonly #terminal: Terminal;
  readonly #isOneRun: boolean;
  #view: OpenView | undefined;
  /** The turn that is being shown, for a pipe. */
  #answer: { readonly key: string; readonly text: PipedAnswer } | undefined;
  #hasNewAnswer = false;
  #lastKey: string | undefined;
  #hasShown = false;
  /** Lines held back while a prompt is shown. */
  #held: string[] | undefined;
  /** Nothing new is drawn before the turn is over. */
  #isFrozen = false;
  #timer: NodeJS.Timeout | undefined;
  #drawing: Promise<void> = Promise.resolve();

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
    this.#view ??= await openView(this.#terminal, this.#isOneRun);
    const isStart = event.type === "run_start";
    if (isStart) await this.#write(true);
    // Records come in order. Without a number, none is awaited.
    this.#view.source.pushRecord({ envelope, event });
    if (event.type === "error") this.#noteAttempt(event as EventOf<"error">);
    this.#hasNewAnswer ||= ANSWERS.includes(event.type);
    if (isTerminal(event)) await this.#write(true);
    else if (isStart || (event.type === "node_exit" && this.#hasNewAnswer)) await this.#write(false);
    else this.#drawSoon();
    await this.#drawing;
  }

  /** Writes a line to standard error. */
  line(text: string): void {
    if (this.#held !== undefined) this.#held.push(text);
    else {
      this.#terminal.warn(text);
      this.#drawSoon();
    }
  }

  /** Writes a line to standard error, after which a terminal shows nothing new before the turn is over. */
  lastLine(text: string): void {
    // A terminal shows ^C where the cursor is.
    this.line(this.showsFailures ? `\r${text}` : text);
    // The line has removed the rows.
    this.#draw(false);
    this.#isFrozen = this.#held === undefined;
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

  /** Terminals show it with the rows. */
  #noteAttempt(error: EventOf<"error">): void {
    if (!isNextAttempt(error)) return;
    const isFork = isForkNotice(error);
    if (!isFork && this.showsFailures) return;
    const { attempt } = error;
    const what = isFork ? "continues from a checkpoint" : `interrupted; running the step again (attempt ${attempt})`;
    this.line(this.#terminal.styleError("dim", what));
  }

  async #write(isOver: boolean): Promise<void> {
    const turn = this.#findTurn();
    if (turn === undefined) return;
    // The end of the answer comes before that of the run, and other steps before the answer.
    if (!isOver) this.#draw(false);
    if (this.#terminal.columns === undefined) await this.#writeAnswer(turn, isOver);
    if (isOver) this.#draw(true);
    await this.#drawing;
    if (!isOver || this.#held !== undefined) return;
    if (!this.#isOneRun && !this.showsFailures) this.#explain(turn);
    this.#lastKey = turn.key;
  }

  get #session(): SessionView | undefined {
    return this.#view?.receiver.peek(this.#view.source.current);
  }

  get #todoLists(): SessionView["todoLists"] {
    return this.#session?.todoLists ?? [];
  }

  /** Returns the turn to show; undefined if there is none, or it was shown to its end. */
  #findTurn(): TurnView | undefined {
    const turn = this.#session?.turns.at(-1);
    return turn?.key === this.#lastKey ? undefined : turn;
  }

  async #writeAnswer(turn: TurnView, isOver: boolean): Promise<void> {
    if (this.#answer?.key !== turn.key) {
      this.#answer = { key: turn.key, text: new PipedAnswer({ hasLists: !this.showsFailures }) };
      if (!this.#isOneRun) await this.#writeMessage(turn);
    }
    this.#hasNewAnswer = false;
    await this.#terminal.write(this.#answer.text.next(turn, this.#todoLists, isOver));
  }

  /** Writes the message of the user. */
  async #writeMessage({ messages }: TurnView): Promise<void> {
    const message = messages.find(({ role }) => role === "user")?.mainContent ?? "";
    const gap = this.#hasShown ? "\n" : "";
    this.#hasShown = true;
    if (message === "") return;
    const lines = message.split("\n").map((line) => cleanText(line));
    await this.#terminal.write(`${gap}› ${lines.join("\n  ")}\n`);
  }

  #drawSoon(): void {
    if (this.#view?.live !== undefined) this.#timer ??= setTimeout(() => this.#draw(false), DRAW_MS).unref();
  }

  #draw(isOver: boolean): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (isOver) this.#isFrozen = false;
    const turn = this.#held === undefined && !this.#isFrozen ? this.#findTurn() : undefined;
    const { live } = this.#view ?? {};
    if (turn === undefined || live === undefined) return;
    this.#drawing = live.draw(turn, this.#todoLists, isOver);
    // Thrown by the next call that waits for it.
    this.#drawing.catch(() => undefined);
  }

  /** Says how the run ended if it did not complete. */
  #explain({ status, reason, code }: TurnView): void {
    if (status === "completed" || status === "running") return;
    const cause = code === undefined || code === status ? "" : ` (${cleanText(code)})`;
    const why = reason === undefined ? "" : `: ${cutColumns(reason, MAX_REASON)}`;
    this.line(`run ${status}${cause}${why}`);
  }
}

/** Loaded on demand: without text output, and in a pipe, a command needs less. */
async function openView(terminal: Terminal, isOneRun: boolean): Promise<OpenView> {
  const { createLoomReceiver } = await import("../../client/receiver.ts");
  // Earlier turns have been shown. One more is kept: a message may be queued before the last run has ended.
  const receiver = createLoomReceiver({ notify: "sync", limits: { maxTurns: 2 } });
  const source = receiver.open({ dialect: "loom" });
  if (terminal.columns === undefined && terminal.errorColumns === undefined)
    return { receiver, source, live: undefined };
  const { LiveTurns } = await import("./live-turns.ts");
  return { receiver, source, live: new LiveTurns(terminal, { skipsMessage: isOneRun }) };
}
