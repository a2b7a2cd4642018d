/**
 * Writes what one tool call prints, reports and shows: in order, within limits, and no faster than the log accepts it.
 * Output that cannot be written yet waits in a queue.
 *
 * Invariants:
 * - Events are emitted in the order in which the tool produced them.
 * - After `close`, output of the tool is ignored; `flush` still writes earlier output.
 */
import { Buffer } from "node:buffer";
import { isLoomError, type JsonObject, LoomError, type LoomEvent } from "../protocol/index.ts";
import { findLoomEventFault } from "../protocol/events.generated.ts";
import { describeValue } from "../protocol/fault.ts";
import { type WriteBudget, writeBudgetOf } from "./write-budget.ts";
import type { ToolHost } from "./tool-host.ts";
import { DEFAULT_LIMITS, type ShownEvent, type ToolCallRequest, type ToolOptions } from "./tool.ts";
import { showValue } from "./tool-result.ts";
import { shorten, isInsidePair, cutText } from "../protocol/cut-text.ts";

/** Characters of one `tool_output`. An event can have 1 MiB, and a character takes up to six bytes of it. */
const MAX_PIECE = 32 * 1024;
const MAX_MESSAGE = 1000;
/** Bytes shown by one call in total. Code `event_too_large`. */
const MAX_SHOWN_TOTAL = 8 * 1024 * 1024;
const SHOWN: ReadonlySet<string> = new Set([
  "data",
  "image",
  "todo_list",
  "todo_update",
  "retrieval_complete",
  "custom",
]);

interface QueuedEvent {
  event: LoomEvent;
  bytes: number;
}

export class ToolOutput {
  readonly #host: ToolHost;
  readonly #budget: WriteBudget;
  readonly #callId: string;
  readonly #name: string;
  readonly #maxPrinted: number;
  readonly #maxEvents: number;
  readonly #maxShown: number;
  #queue: QueuedEvent[] = [];
  #flushing: Promise<void> | undefined;
  /** Shown events whose write is pending. */
  readonly #shown = new Set<PromiseLike<unknown>>();
  #isClosed = false;
  #isCut = false;
  #printed = 0;
  /** First half of a surrogate pair whose second half has not been printed yet. */
  #half = "";
  #shownBytes = 0;
  #events = 0;
  #progress = "";
  #refusal: LoomError | undefined;
  #failure: { readonly error: unknown } | undefined;

  constructor(host: ToolHost, call: ToolCallRequest, options: ToolOptions) {
    this.#host = host;
    this.#budget = writeBudgetOf(host);
    this.#callId = call.callId;
    this.#name = call.name;
    this.#maxPrinted = options.maxPrintedCharacters ?? DEFAULT_LIMITS.maxPrintedCharacters;
    this.#maxEvents = options.maxEvents ?? DEFAULT_LIMITS.maxEvents;
    this.#maxShown = options.maxShownBytes ?? DEFAULT_LIMITS.maxShownBytes;
  }

  /** Error for a shown event that was rejected, which is a mistake of the tool. */
  get refusal(): LoomError | undefined {
    return this.#refusal;
  }

  /** Error of the host, after which nothing can be written. */
  get failure(): { readonly error: unknown } | undefined {
    return this.#failure;
  }

  print(said: string): void {
    if (this.#isClosed || this.#isCut) return;
    const text = this.#half + showValue(said);
    const end = /[\uD800-\uDBFF]$/.test(text) ? text.length - 1 : text.length;
    this.#half = text.slice(end);
    this.#printText(text.slice(0, end));
  }

  #printText(text: string): void {
    const room = this.#maxPrinted - this.#printed;
    const isLast = this.#events >= this.#maxEvents && !this.#joins(text);
    const kept = isLast ? "" : cutText(text, room).toWellFormed();
    for (let at = 0; at < kept.length;) {
      const end = endOfPiece(kept, at);
      this.#printPiece(kept.slice(at, end));
      at = end;
    }
    if (kept.length === text.length) return;
    this.#isCut = true;
    const limit = isLast ? `${this.#maxEvents} events` : `${this.#maxPrinted} characters`;
    this.#push(this.#outputOf(`\n[truncated: a call can print at most ${limit}]\n`), 512);
  }

  report(progress: number, message?: string): void {
    if (this.#isClosed || typeof progress !== "number" || Number.isNaN(progress)) return;
    const value = Math.min(100, Math.max(0, progress));
    const words = typeof message === "string" ? shorten(message.toWellFormed(), MAX_MESSAGE) : undefined;
    const key = `${value} ${words ?? ""}`;
    if (key === this.#progress) return;
    this.#progress = key;
    const event: LoomEvent = {
      type: "tool_progress",
      call_id: this.#callId,
      name: this.#name,
      progress: value,
      ...(words === undefined ? {} : { message: words }),
    };
    // Only the latest waiting progress is of interest.
    if (this.#queue.at(-1)?.event.type === "tool_progress") this.#queue.pop();
    else if (this.#events++ >= this.#maxEvents) return;
    this.#push(event, 512);
  }

  show(event: ShownEvent): void {
    if (this.#isClosed) return;
    const { copy, bytes } = copyShown(event);
    const tooMuch = this.#describeExceededLimit(bytes);
    if (tooMuch !== undefined)
      throw new LoomError(
        "event_too_large",
        `The tool tried to show ${bytes} bytes of \`${event.type}\`, but ${tooMuch}`,
        {
          bytes,
          limit: this.#maxShown,
          total: MAX_SHOWN_TOTAL,
        },
      );
    this.#shownBytes += bytes;
    this.#events++;
    this.#push(copy, bytes);
    if (this.#refusal !== undefined) throw this.#refusal;
  }

  /** Resolves when the queue is empty and the log has room. */
  async ready(): Promise<void> {
    this.#host.signal.throwIfAborted();
    if (this.#queue.length > 0) await this.flush();
    else if (!this.#budget.take(0)) await this.#budget.wait();
  }

  /** Stops accepting output of the tool. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (!this.#isCut) this.#printText(this.#half);
  }

  /** Resolves when all output is written and shown events are durable. Never rejects: see `failure`. */
  async flush(): Promise<void> {
    this.#flushing ??= this.#drain().finally(() => (this.#flushing = undefined));
    await this.#flushing;
    await Promise.allSettled(this.#shown);
  }

  async #drain(): Promise<void> {
    while (this.#queue.length > 0 && this.#failure === undefined) {
      const [first] = this.#queue as [QueuedEvent];
      if (this.#budget.take(first.bytes)) {
        this.#queue.shift();
        this.#write(first.event);
        continue;
      }
      try {
        await this.#budget.wait();
      } catch (error) {
        this.#failure ??= { error };
      }
    }
  }

  #printPiece(piece: string): void {
    this.#printed += piece.length;
    const last = this.#queue.at(-1);
    if (last?.event.type === "tool_output" && this.#joins(piece)) {
      last.event = this.#outputOf(last.event.content + piece);
      // Only the new piece is measured, because pieces can be as small as one character.
      last.bytes += Buffer.byteLength(piece);
      return;
    }
    this.#events++;
    this.#push(this.#outputOf(piece), bytesOf(piece));
  }

  #describeExceededLimit(bytes: number): string | undefined {
    if (bytes > this.#maxShown) return `one event can have at most ${this.#maxShown}`;
    if (this.#shownBytes + bytes > MAX_SHOWN_TOTAL) return `one call can show at most ${MAX_SHOWN_TOTAL} in total`;
    return this.#events >= this.#maxEvents ? `one call can emit at most ${this.#maxEvents} events` : undefined;
  }

  /** Returns true if the text can be appended to the last queued event. */
  #joins(text: string): boolean {
    const last = this.#queue.at(-1)?.event;
    return last?.type === "tool_output" && last.content.length + text.length <= MAX_PIECE;
  }

  #outputOf(content: string): LoomEvent {
    return { type: "tool_output", call_id: this.#callId, name: this.#name, content };
  }

  #push(event: LoomEvent, bytes: number): void {
    if (this.#queue.length === 0 && this.#budget.take(bytes)) {
      this.#write(event);
      return;
    }
    this.#queue.push({ event, bytes });
    void this.flush();
  }

  #write(event: LoomEvent): void {
    try {
      const written = this.#host.emit(event);
      if (written === undefined) return;
      const settled: Promise<unknown> = Promise.resolve(written).then(
        () => this.#shown.delete(settled),
        (error: unknown) => {
          this.#shown.delete(settled);
          this.#recordError(error);
        },
      );
      if (SHOWN.has(event.type)) this.#shown.add(settled);
    } catch (error) {
      this.#recordError(error);
    }
  }

  #recordError(error: unknown): void {
    if (isLoomError(error, "invalid_event", "unknown_todo")) this.#refusal ??= error;
    else this.#failure ??= { error };
  }
}

/** Approximate size of a text inside an event. */
function bytesOf(text: string): number {
  return Buffer.byteLength(text) + 256;
}

/** Returns the end of a piece that begins at `start`. Never splits a surrogate pair. */
export function endOfPiece(text: string, start: number, length: number = MAX_PIECE): number {
  const end = start + length;
  if (end >= text.length) return text.length;
  return isInsidePair(text, end) ? end - 1 : end;
}

/** Validates and copies a shown event: it may wait in the queue while the tool changes the original. */
function copyShown(event: ShownEvent): { readonly copy: LoomEvent; readonly bytes: number } {
  const type: unknown = (event as ShownEvent | undefined)?.type;
  if (typeof type !== "string" || !SHOWN.has(type))
    throw new LoomError("invalid_event", `A tool can show ${[...SHOWN].join(", ")}, not ${describeValue(type)}`);
  let text: string;
  try {
    text = JSON.stringify(event);
  } catch (cause) {
    throw new LoomError("invalid_event", `\`${type}\` cannot be converted to JSON`, {}, { cause });
  }
  const copy = JSON.parse(text) as LoomEvent & JsonObject;
  const fault = findLoomEventFault(copy);
  if (fault !== undefined) throw new LoomError("invalid_event", `\`${type}\`: ${fault.message}`, { path: fault.path });
  return { copy, bytes: Buffer.byteLength(text) };
}
