/**
 * A run on a terminal: the answer on standard output, and on standard error, where that is a terminal, short lines about
 * what happens meanwhile. What models and tools say is made harmless before a terminal gets it.
 */
import type { EventOf, EventRecord } from "../../protocol/index.ts";
import { cleanText, cutText, plural } from "../fit-text.ts";
import type { Terminal } from "../terminal.ts";
import { describeShown } from "./describe-shown.ts";
import { formatNote, type Note } from "./format-note.ts";
import { describeEnd, describePassing, type Place, StepLines } from "./step-lines.ts";
import { ThoughtScreen } from "./thought-screen.ts";

/** Records and lines that wait while a question is on the screen; more are only counted. */
const MAX_HELD = 1000;
/** Lines of a list that are a part of the answer. */
const MAX_WRITTEN = 200;
/** How much of what was said last is kept, to know it again in the reply. */
const KEPT_CHARACTERS = 200;

export class RunScreen {
  readonly #terminal: Terminal;
  readonly #thoughts: ThoughtScreen;
  readonly #steps = new StepLines();
  /** The node run whose text was written last, and the end of that text. */
  #speaker: string | undefined;
  #spoken = "";
  #lastError: string | undefined;
  /** Something stands in the line, on either stream. */
  #isAnswerOpen = false;
  #isThoughtOpen = false;
  #held: (EventRecord | string)[] | undefined;
  #leftOut = 0;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
    const width = (): number => this.#width;
    this.#thoughts = new ThoughtScreen({
      get width() {
        return width();
      },
      note: (note) => void this.#note(note),
      progress: (text) => this.#progress(text),
    });
  }

  /** The message of the last error that was shown in full. */
  get lastError(): string | undefined {
    return this.#lastError;
  }

  /** Nothing is written until `release`: a question is on the screen. */
  hold(): void {
    this.#held ??= [];
    this.#terminal.progress(undefined);
    this.#startLine();
  }

  async release(): Promise<void> {
    const held = this.#held ?? [];
    const leftOut = this.#leftOut;
    this.#held = undefined;
    this.#leftOut = 0;
    for (const item of held) {
      if (typeof item === "string") this.line(item);
      else await this.show(item);
    }
    if (leftOut > 0) this.line(this.#dim(`… ${plural(leftOut, "event")} not shown`));
  }

  /** Throws `OutputClosed` when nobody reads any more. */
  async show(record: EventRecord): Promise<void> {
    // What would have passed by has done so meanwhile.
    if (this.#held !== undefined && this.#thoughts.isPassing(record)) return;
    if (!this.#isHeld(record)) await this.#show(record);
  }

  /** A line on standard error, whatever that is. */
  line(text: string): void {
    if (this.#isHeld(text)) return;
    this.#startLine();
    this.#terminal.warn(text);
  }

  /** Ends the line the answer stands in. */
  async end(): Promise<void> {
    this.#terminal.progress(undefined);
    if (this.#isThoughtOpen) this.#endThought();
    if (this.#isAnswerOpen) await this.#writeAnswer("\n");
  }

  /** True when there is a question on the screen, and this has to wait. */
  #isHeld(item: EventRecord | string): boolean {
    if (this.#held === undefined) return false;
    if (this.#held.length < MAX_HELD) this.#held.push(item);
    else this.#leftOut++;
    return true;
  }

  async #show(record: EventRecord): Promise<void> {
    const { envelope, event } = record;
    if (this.#thoughts.take(record)) return;
    switch (event.type) {
      case "message_chunk": {
        const { content, channel } = event as EventOf<"message_chunk">;
        if (channel === "thought") this.#think(content);
        else await this.#speak(content, envelope.node_id);
        return;
      }
      case "reasoning_chunk":
        return this.#think((event as EventOf<"reasoning_chunk">).content);
      case "reasoning_end":
        return this.#endThought();
      case "reply": {
        const { reply } = event as EventOf<"reply">;
        const isSpoken = this.#spoken !== "" && this.#speaker === envelope.node_id && reply.endsWith(this.#spoken);
        if (!isSpoken) await this.#reply(reply, envelope.node_id);
        return;
      }
      default:
        if (this.#terminal.errorColumns !== undefined) this.#describe(event, this.#thoughts.locate(envelope.node_id));
        else await this.#writeShown(event);
    }
  }

  #describe(event: EventRecord["event"], place: Place | undefined): void {
    const passing = describePassing(event);
    if (passing !== undefined) return this.#progress(passing);
    if (event.type === "run_end") return this.line(this.#dim(describeEnd(event as EventOf<"run_end">)));
    const note = this.#steps.describe(event, place);
    const line = note === undefined ? "" : this.#note(note);
    if (event.type === "error") {
      const { message } = event as EventOf<"error">;
      if (line.includes(message)) this.#lastError = message;
    }
    for (const text of describeShown(event)) this.line(`  ${cutText(text, this.#width - 2)}`);
  }

  /** Where no terminal shows it, a list is a part of the answer. */
  async #writeShown(event: EventRecord["event"]): Promise<void> {
    if (event.type !== "todo_list") return;
    if (this.#isAnswerOpen) await this.#writeAnswer("\n");
    const lines = describeShown(event, MAX_WRITTEN).map((line) => cleanText(line));
    await this.#writeAnswer(`${lines.join("\n")}\n\n`);
  }

  async #speak(text: string, nodeId: string | undefined): Promise<void> {
    if (text === "") return;
    this.#endThought();
    if (this.#speaker !== nodeId) {
      if (this.#isAnswerOpen) await this.#writeAnswer("\n");
      this.#spoken = "";
    }
    this.#speaker = nodeId;
    this.#spoken = (this.#spoken + text).slice(-KEPT_CHARACTERS);
    await this.#writeAnswer(this.#terminal.columns === undefined ? text : cleanLines(text));
  }

  /** A reply that nobody has streamed. */
  async #reply(text: string, nodeId: string | undefined): Promise<void> {
    if (text !== "" && this.#isAnswerOpen) await this.#writeAnswer("\n");
    await this.#speak(text, nodeId);
  }

  async #writeAnswer(text: string): Promise<void> {
    this.#isAnswerOpen = !text.endsWith("\n");
    await this.#terminal.write(text);
  }

  #think(text: string): void {
    if (this.#terminal.errorColumns === undefined || text === "") return;
    if (!this.#isThoughtOpen) this.#startLine();
    this.#isThoughtOpen = true;
    this.#terminal.writeError(this.#dim(cleanLines(text)));
  }

  #endThought(): void {
    if (this.#isThoughtOpen) this.#terminal.writeError("\n");
    this.#isThoughtOpen = false;
  }

  #startLine(): void {
    this.#endThought();
    const isShared = this.#terminal.columns !== undefined && this.#terminal.errorColumns !== undefined;
    if (!isShared || !this.#isAnswerOpen) return;
    this.#isAnswerOpen = false;
    this.#terminal.writeError("\n");
  }

  /** The line it became. */
  #note(note: Note): string {
    if (this.#terminal.errorColumns === undefined) return "";
    const line = formatNote(note, this.#width, this.#terminal.styleError);
    this.line(line);
    return line;
  }

  #progress(text: string): void {
    if (this.#terminal.errorColumns === undefined) return;
    this.#startLine();
    this.#terminal.progress(this.#dim(cutText(text.trim(), this.#width)));
  }

  get #width(): number {
    return Math.max(20, (this.#terminal.errorColumns ?? 80) - 1);
  }

  #dim(text: string): string {
    return text === "" ? "" : this.#terminal.styleError("dim", text);
  }
}

/** Harmless text of several lines; tabs stay, since programs are indented by them. */
function cleanLines(text: string): string {
  return text
    .replaceAll("\r", "")
    .split(/([\n\t])/)
    .map((part) => (part === "\n" || part === "\t" ? part : cleanText(part)))
    .join("");
}
