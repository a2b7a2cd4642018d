/**
 * Shows a run on a terminal: the answer on standard output, progress lines on standard error if that is a terminal.
 * Text from models and tools is cleaned before it is shown. A pipe gets the text of a node run when that has ended: after
 * a crash, the node runs again and the text does not count.
 */
import { isInterrupted } from "../../engine/interrupted-nodes.ts";
import type { EventOf, EventRecord } from "../../protocol/index.ts";
import { isBeforeReply, isForkNotice, isNextAttempt, isThinkingChannel } from "../../protocol/record.ts";
import { cleanText, cutColumns, plural, wrapText } from "../fit-text.ts";
import type { Terminal } from "../terminal.ts";
import { SourceLines } from "./source-lines.ts";
import { describeContent } from "./describe-content.ts";
import { formatNote, type Note } from "./format-note.ts";
import { describeEnd, describeTransient, type StepPosition, StepLines } from "./step-lines.ts";
import { ThoughtScreen } from "./thought-screen.ts";

/** Records and lines held while a prompt is shown; further ones are only counted. */
const MAX_HELD = 1000;
/** Lines of a to-do list shown as part of the answer. */
const MAX_WRITTEN = 200;
/** Characters kept of the streamed text, to recognize it in the reply. */
const KEPT_CHARACTERS = 200;
/** Columns of the reason of a failed run, over several lines. */
export const MAX_REASON = 4000;

export class RunScreen {
  readonly #terminal: Terminal;
  /** Text for a pipe by node run, while the node may run again. */
  readonly #unsure = new Map<string | undefined, string>();
  readonly #thoughts: ThoughtScreen;
  readonly #steps = new StepLines();
  readonly #sources = new SourceLines();
  /** The node run whose text was written last, and the end of that text. */
  #lastNodeId: string | undefined;
  #lastText = "";
  #lastError: string | undefined;
  #hasFailed = false;
  /** The cursor is inside a line, on either stream. */
  #isAnswerOpen = false;
  #isThoughtOpen = false;
  #held: (EventRecord | string)[] | undefined;
  #omitted = 0;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
    const width = (): number => this.#width;
    this.#thoughts = new ThoughtScreen({
      get width() {
        return width();
      },
      note: (note) => this.#note(note),
      progress: (text) => this.#progress(text),
    });
  }

  /** Message of the last error that was shown, up to `MAX_REASON`. */
  get lastError(): string | undefined {
    return this.#lastError;
  }

  /** Holds back all output until `release`, while a prompt is shown. */
  hold(): void {
    this.#held ??= [];
    this.#terminal.progress(undefined);
    this.#startLine();
  }

  async release(): Promise<void> {
    const held = this.#held ?? [];
    const leftOut = this.#omitted;
    this.#held = undefined;
    this.#omitted = 0;
    for (const item of held) {
      if (typeof item === "string") this.line(item);
      else await this.show(item);
    }
    if (leftOut > 0) this.line(this.#dim(`… ${plural(leftOut, "event")} not shown`));
  }

  /** Throws `OutputClosed` if standard output was closed. */
  async show(record: EventRecord): Promise<void> {
    // Progress text is outdated by the time it could be shown.
    if (this.#held !== undefined && this.#thoughts.isTransient(record)) return;
    if (!this.#isHeld(record)) await this.#show(record);
  }

  /** Writes a line to standard error. */
  line(text: string): void {
    if (this.#isHeld(text)) return;
    this.#startLine();
    this.#terminal.warn(text);
  }

  /** Ends the current line of the answer. */
  async end(): Promise<void> {
    this.#terminal.progress(undefined);
    if (this.#isThoughtOpen) this.#endThought();
    await this.#settleAll();
    if (this.#isAnswerOpen) await this.#writeAnswer("\n");
  }

  /** Holds the item back if a prompt is shown, and returns true. */
  #isHeld(item: EventRecord | string): boolean {
    if (this.#held === undefined) return false;
    if (this.#held.length < MAX_HELD) this.#held.push(item);
    else this.#omitted++;
    return true;
  }

  async #show(record: EventRecord): Promise<void> {
    const { envelope, event } = record;
    if (this.#thoughts.take(record)) return;
    switch (event.type) {
      case "message_chunk": {
        const { content, channel } = event as EventOf<"message_chunk">;
        if (channel === "break") return;
        if (isThinkingChannel(channel)) this.#think(content);
        else if (this.#terminal.columns !== undefined) await this.#speak(content, envelope.node_id);
        else this.#keep(content, envelope.node_id);
        return;
      }
      case "reasoning_chunk":
        return this.#think((event as EventOf<"reasoning_chunk">).content);
      case "reasoning_end":
        return this.#endThought();
      case "node_enter": {
        const { supersedes } = event as EventOf<"node_enter">;
        if (supersedes !== undefined) this.#unsure.delete(supersedes);
        break;
      }
      case "node_exit": {
        const { result } = event as EventOf<"node_exit">;
        if (isInterrupted(result)) this.#unsure.delete(envelope.node_id);
        else if (result === "Ok") await this.#settle(envelope.node_id);
        return;
      }
      case "error": {
        const error = event as EventOf<"error">;
        if (!isNextAttempt(error)) break;
        if (isForkNotice(error)) return this.line(this.#dim("continues from a checkpoint"));
        const { attempt } = error;
        return this.line(this.#dim(`interrupted; running the step again (attempt ${attempt})`));
      }
      case "reply": {
        await this.#settleAll();
        // The answer so far was shown as it came.
        if (this.#hasFailed) return;
        const { reply } = event as EventOf<"reply">;
        const isSpoken =
          this.#lastText !== "" && this.#lastNodeId === envelope.node_id && reply.endsWith(this.#lastText);
        if (isSpoken) return;
        await this.#reply(reply, envelope.node_id);
        return this.#writeSources();
      }
      case "retrieval_complete":
        this.#sources.add(event as EventOf<"retrieval_complete">);
        break;
      case "run_end":
        this.#hasFailed = isBeforeReply(event);
        await this.#settleAll();
        await this.#writeSources();
        break;
      default:
    }
    if (this.#terminal.errorColumns !== undefined) this.#describe(event, this.#thoughts.locate(envelope.node_id));
    else await this.#writeContent(event);
  }

  /** Keeps text for a pipe. The node run that spoke last is the last, so that its text is recognized in the reply. */
  #keep(content: string, nodeId: string | undefined): void {
    const text = this.#unsure.get(nodeId) ?? "";
    this.#unsure.delete(nodeId);
    this.#unsure.set(nodeId, text + content);
  }

  /** Writes the text of a node run that does not run again. */
  async #settle(nodeId: string | undefined): Promise<void> {
    const text = this.#unsure.get(nodeId) ?? "";
    this.#unsure.delete(nodeId);
    await this.#speak(text, nodeId);
  }

  async #settleAll(): Promise<void> {
    for (const nodeId of this.#unsure.keys()) await this.#settle(nodeId);
  }

  #describe(event: EventRecord["event"], position: StepPosition | undefined): void {
    const progress = describeTransient(event);
    if (progress !== undefined) return this.#progress(progress);
    if (event.type === "run_end") return this.line(this.#dim(describeEnd(event as EventOf<"run_end">)));
    const note = this.#steps.describe(event, position);
    if (note !== undefined && event.type === "error") {
      this.#lastError = (event as EventOf<"error">).message;
      this.line(this.#formatError(note));
    } else if (note !== undefined) this.#note(note);
    for (const text of describeContent(event)) this.line(`  ${cutColumns(text, this.#width - 2)}`);
  }

  /** If standard error is not a terminal, a to-do list is part of the answer. */
  async #writeContent(event: EventRecord["event"]): Promise<void> {
    if (event.type !== "todo_list") return;
    if (this.#isAnswerOpen) await this.#writeAnswer("\n");
    const lines = describeContent(event, MAX_WRITTEN).map((line) => cleanText(line));
    await this.#writeAnswer(`${lines.join("\n")}\n\n`);
  }

  /** Lists the sources that the answer cites. */
  async #writeSources(): Promise<void> {
    const lines = this.#sources.take();
    if (lines.length === 0) return;
    if (this.#isAnswerOpen) await this.#writeAnswer("\n");
    await this.#writeAnswer(`\nSources:\n${lines.join("\n")}\n`);
  }

  async #speak(text: string, nodeId: string | undefined): Promise<void> {
    if (text === "") return;
    this.#endThought();
    if (this.#lastNodeId !== nodeId) {
      if (this.#isAnswerOpen) await this.#writeAnswer("\n");
      this.#lastText = "";
    }
    this.#lastNodeId = nodeId;
    this.#sources.read(text);
    this.#lastText = (this.#lastText + text).slice(-KEPT_CHARACTERS);
    await this.#writeAnswer(this.#terminal.columns === undefined ? text : cleanLines(text));
  }

  /** Writes a reply that was not streamed. */
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

  #note(note: Note): void {
    if (this.#terminal.errorColumns === undefined) return;
    this.line(formatNote(note, this.#width, this.#terminal.styleError));
  }

  /** An error takes as many lines as it needs: it may be the reason why the run failed. */
  #formatError({ text = "", end = "", ...note }: Note): string {
    const head = formatNote(note, this.#width, this.#terminal.styleError);
    const margin = " ".repeat(head.length - head.trimStart().length);
    const message = cutColumns(text.trim().replaceAll(/\s+/g, " "), MAX_REASON);
    const words = [head.trimStart(), message, this.#dim(cleanText(end))].filter((part) => part !== "").join(" ");
    return `${margin}${wrapText(words, this.#width - margin.length, `${margin}  `)}`;
  }

  #progress(text: string): void {
    if (this.#terminal.errorColumns === undefined) return;
    this.#startLine();
    this.#terminal.progress(this.#dim(cutColumns(text.trim(), this.#width)));
  }

  get #width(): number {
    return Math.max(20, (this.#terminal.errorColumns ?? 80) - 1);
  }

  #dim(text: string): string {
    return text === "" ? "" : this.#terminal.styleError("dim", text);
  }
}

/** Cleans text of several lines; tabs are kept for indented code. */
function cleanLines(text: string): string {
  return text
    .replaceAll("\r", "")
    .split(/([\n\t])/)
    .map((part) => (part === "\n" || part === "\t" ? part : cleanText(part)))
    .join("");
}
