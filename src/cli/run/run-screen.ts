/**
 * A run on a terminal: the answer on standard output, and on standard error, where that is a terminal, short lines about
 * what happens meanwhile. What models and tools say is made harmless before a terminal gets it.
 */
import type { EventOf, EventRecord, JsonObject } from "../../protocol/index.ts";
import { cleanText, cutText, measureColumns, plural } from "../fit-text.ts";
import type { Terminal } from "../terminal.ts";
import { describeShown } from "./describe-shown.ts";

/** Records and lines that wait while a question is on the screen; more are only counted. */
const MAX_HELD = 1000;
/** How much of what was said last is kept, to know it again in the reply. */
const KEPT_CHARACTERS = 200;

export class RunScreen {
  readonly #terminal: Terminal;
  /** The arguments of calls that have not started. */
  readonly #inputs = new Map<string, JsonObject>();
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
  }

  /** The message of the last error that was shown. */
  get lastError(): string | undefined {
    return this.#lastError;
  }

  /** Nothing is written until `release`: a question is on the screen. */
  hold(): void {
    this.#held ??= [];
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

  async #show({ envelope, event }: EventRecord): Promise<void> {
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
        if (this.#terminal.errorColumns !== undefined) this.#describe(event);
    }
  }

  #describe(event: EventRecord["event"]): void {
    switch (event.type) {
      case "tool_call": {
        const { call_id = "", arguments: input } = event as EventOf<"tool_call">;
        this.#inputs.set(call_id, input);
        return;
      }
      case "tool_approval_result":
        return this.#showDecision(event as EventOf<"tool_approval_result">);
      case "tool_start": {
        const { call_id = "", name } = event as EventOf<"tool_start">;
        const input = this.#inputs.get(call_id) ?? {};
        this.#inputs.delete(call_id);
        return this.#note("cyan", "→", name, JSON.stringify(input));
      }
      case "tool_output": {
        const { name, content } = event as EventOf<"tool_output">;
        return this.#progress(`${name} ${content.trim().split("\n").at(-1) ?? ""}`);
      }
      case "tool_progress": {
        const { name = "", progress, message = "" } = event as EventOf<"tool_progress">;
        return this.#progress(`${name} ${Math.round(progress)} % ${message}`);
      }
      case "tool_end":
        return this.#showResult(event as EventOf<"tool_end">);
      case "error":
        return this.#showError(event as EventOf<"error">);
      case "run_end":
        return this.#showEnd(event as EventOf<"run_end">);
      default:
        for (const text of describeShown(event)) this.line(`  ${cutText(text, this.#width - 2)}`);
    }
  }

  #showDecision({ call_id = "", name = "", decision, arguments: input }: EventOf<"tool_approval_result">): void {
    if (input !== undefined) this.#inputs.set(call_id, input);
    // Of any other decision the call's result tells.
    if (decision === "approved") this.#note("green", "✓", name, input === undefined ? decision : `${decision}, edited`);
  }

  #showResult({ call_id = "", name, result, is_error, duration_ms }: EventOf<"tool_end">): void {
    this.#inputs.delete(call_id);
    const took = duration_ms === undefined ? "" : ` (${formatDuration(duration_ms)})`;
    const [style, sign] = is_error ? (["red", "✗"] as const) : (["green", "←"] as const);
    this.#note(style, sign, name, result, took);
  }

  #showError({ message, code, call_id }: EventOf<"error">): void {
    // What went wrong in a tool was told as its result.
    if (call_id !== undefined) return;
    this.#lastError = message;
    this.#note("red", "✗", "error", message, code === undefined ? "" : ` (${code})`);
  }

  #showEnd({ status, summary = {} }: EventOf<"run_end">): void {
    const { duration_ms, tool_calls = 0, total_tokens = 0 } = summary;
    const parts = [
      duration_ms === undefined ? status : `${status} in ${formatDuration(duration_ms)}`,
      ...(tool_calls > 0 ? [plural(tool_calls, "tool call")] : []),
      ...(total_tokens > 0 ? [plural(total_tokens, "token")] : []),
    ];
    this.line(this.#dim(parts.join(", ")));
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

  /** One line that fits: a sign, a name, words, and an end that is never cut off. */
  #note(style: "cyan" | "green" | "red", sign: string, name: string, text: string, end = ""): void {
    const { styleError } = this.#terminal;
    const shownName = cutText(name, Math.floor(this.#width / 2));
    const room = this.#width - measureColumns(shownName) - end.length - 3;
    const words = cutText(text.trim().replaceAll(/\s+/g, " "), Math.max(8, room));
    this.line(`${styleError(style, sign)} ${styleError("bold", shownName)} ${words}${this.#dim(end)}`);
  }

  #progress(text: string): void {
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

function formatDuration(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}
