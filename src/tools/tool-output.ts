/**
 * What one call prints, reports and shows, on its way to the run: in order, bounded, and no faster than the log can
 * take it. Most of it goes through at once; what does not waits here.
 *
 * Invariants:
 * - What is emitted is in the order in which the tool said it.
 * - After `close` the tool is heard no more; what it said before is still written by `flush`.
 */
import { Buffer } from "node:buffer";
import {
  describeValue,
  findLoomEventFault,
  isLoomError,
  type JsonObject,
  LoomError,
  type LoomEvent,
} from "../protocol/index.ts";
import { shorten } from "./describe-failure.ts";
import { type Pace, paceOf } from "./pace.ts";
import type { ToolHost } from "./tool-host.ts";
import { DEFAULT_LIMITS } from "./tool-limits.ts";
import { showValue } from "./tool-result.ts";
import type { ShownEvent, ToolCall, ToolOptions } from "./tool.ts";

/** Characters of one `tool_output`: an event may have 1 MiB, and a character six bytes of it. */
const MAX_PIECE = 32 * 1024;
const MAX_MESSAGE = 1000;
/** Bytes of all that one call shows. Code `event_too_large`. */
const MAX_SHOWN_TOTAL = 8 * 1024 * 1024;
const SHOWN: ReadonlySet<string> = new Set([
  "data",
  "image",
  "todo_list",
  "todo_update",
  "retrieval_complete",
  "custom",
]);

interface Waiting {
  event: LoomEvent;
  bytes: number;
}

export class ToolOutput {
  readonly #host: ToolHost;
  readonly #pace: Pace;
  readonly #callId: string;
  readonly #name: string;
  readonly #maxPrinted: number;
  readonly #maxEvents: number;
  readonly #maxShown: number;
  #queue: Waiting[] = [];
  #flushing: Promise<void> | undefined;
  /** Those shown that are not known to be written. */
  readonly #shown = new Set<PromiseLike<unknown>>();
  #isClosed = false;
  #isCut = false;
  #printed = 0;
  /** The first half of a character whose second is yet to be printed. */
  #half = "";
  #shownBytes = 0;
  #events = 0;
  #progress = "";
  #refusal: LoomError | undefined;
  #failure: { readonly error: unknown } | undefined;

  constructor(host: ToolHost, call: ToolCall, options: ToolOptions) {
    this.#host = host;
    this.#pace = paceOf(host);
    this.#callId = call.callId;
    this.#name = call.name;
    this.#maxPrinted = options.maxPrintedCharacters ?? DEFAULT_LIMITS.maxPrintedCharacters;
    this.#maxEvents = options.maxEvents ?? DEFAULT_LIMITS.maxEvents;
    this.#maxShown = options.maxShownBytes ?? DEFAULT_LIMITS.maxShownBytes;
  }

  /** Something the tool has shown was refused: the tool's mistake. */
  get refusal(): LoomError | undefined {
    return this.#refusal;
  }

  /** The host can write no more: not the tool's mistake. */
  get failure(): { readonly error: unknown } | undefined {
    return this.#failure;
  }

  print(said: string): void {
    if (this.#isClosed || this.#isCut) return;
    const text = this.#half + showValue(said);
    const end = isFirstHalf(text, text.length - 1) ? text.length - 1 : text.length;
    this.#half = text.slice(end);
    this.#printText(text.slice(0, end));
  }

  #printText(text: string): void {
    const room = this.#maxPrinted - this.#printed;
    const isLast = this.#events >= this.#maxEvents && !this.#joins(text);
    const fits = text.length > room && isFirstHalf(text, room - 1) ? room - 1 : room;
    const kept = isLast ? "" : text.slice(0, fits).toWellFormed();
    for (let at = 0; at < kept.length;) {
      const end = endOfPiece(kept, at);
      this.#printPiece(kept.slice(at, end));
      at = end;
    }
    if (kept.length === text.length) return;
    this.#isCut = true;
    const limit = isLast ? `${this.#maxEvents} events` : `${this.#maxPrinted} characters`;
    this.#push(this.#outputOf(`\n[cut: a call may print ${limit}]\n`), 512);
  }

  report(progress: number, message?: string): void {
    if (this.#isClosed || typeof progress !== "number" || Number.isNaN(progress)) return;
    const value = Math.min(100, Math.max(0, progress));
    const words = typeof message === "string" ? shorten(message, MAX_MESSAGE) : undefined;
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
    // Only the latest is of interest among those that wait.
    if (this.#queue.at(-1)?.event.type === "tool_progress") this.#queue.pop();
    else if (this.#events++ >= this.#maxEvents) return;
    this.#push(event, 512);
  }

  show(event: ShownEvent): void {
    if (this.#isClosed) return;
    const { copy, bytes } = copyShown(event);
    const tooMuch = this.#findTooMuch(bytes);
    if (tooMuch !== undefined)
      throw new LoomError("event_too_large", `Too much to show: ${bytes} bytes of \`${event.type}\`; ${tooMuch}.`, {
        bytes,
        limit: this.#maxShown,
        total: MAX_SHOWN_TOTAL,
      });
    this.#shownBytes += bytes;
    this.#events++;
    this.#push(copy, bytes);
    if (this.#refusal !== undefined) throw this.#refusal;
  }

  /** Resolves when nothing waits here, and the log has room. */
  async ready(): Promise<void> {
    this.#host.signal.throwIfAborted();
    if (this.#queue.length > 0) await this.flush();
    else if (!this.#pace.take(0)) await this.#pace.wait();
  }

  /** The tool is heard no more. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (!this.#isCut) this.#printText(this.#half);
  }

  /** Resolves when all that was said is written; things shown, durably. Never rejects: see `failure`. */
  async flush(): Promise<void> {
    this.#flushing ??= this.#drain().finally(() => (this.#flushing = undefined));
    await this.#flushing;
    await Promise.allSettled(this.#shown);
  }

  async #drain(): Promise<void> {
    while (this.#queue.length > 0 && this.#failure === undefined) {
      const [first] = this.#queue as [Waiting];
      if (this.#pace.take(first.bytes)) {
        this.#queue.shift();
        this.#write(first.event);
        continue;
      }
      try {
        await this.#pace.wait();
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
      // Only what is new is measured: pieces may be as small as a character.
      last.bytes += Buffer.byteLength(piece);
      return;
    }
    this.#events++;
    this.#push(this.#outputOf(piece), bytesOf(piece));
  }

  #findTooMuch(bytes: number): string | undefined {
    if (bytes > this.#maxShown) return `one thing may have ${this.#maxShown}`;
    if (this.#shownBytes + bytes > MAX_SHOWN_TOTAL) return `all of one call may have ${MAX_SHOWN_TOTAL}`;
    return this.#events >= this.#maxEvents ? `a call may have ${this.#maxEvents} events` : undefined;
  }

  /** True when a text can be added to the last one that waits. */
  #joins(text: string): boolean {
    const last = this.#queue.at(-1)?.event;
    return last?.type === "tool_output" && last.content.length + text.length <= MAX_PIECE;
  }

  #outputOf(content: string): LoomEvent {
    return { type: "tool_output", call_id: this.#callId, name: this.#name, content };
  }

  #push(event: LoomEvent, bytes: number): void {
    if (this.#queue.length === 0 && this.#pace.take(bytes)) {
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
          this.#note(error);
        },
      );
      if (SHOWN.has(event.type)) this.#shown.add(settled);
    } catch (error) {
      this.#note(error);
    }
  }

  #note(error: unknown): void {
    if (isLoomError(error, "invalid_event", "unknown_todo")) this.#refusal ??= error;
    else this.#failure ??= { error };
  }
}

/** Bytes of a text within an event, nearly. */
function bytesOf(text: string): number {
  return Buffer.byteLength(text) + 256;
}

/** Where a piece ends that begins at `start`: never between the halves of a character. */
export function endOfPiece(text: string, start: number, length: number = MAX_PIECE): number {
  const end = start + length;
  if (end >= text.length) return text.length;
  return isFirstHalf(text, end - 1) ? end - 1 : end;
}

/** True for a code unit that needs another to be a character. */
function isFirstHalf(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 0xd800 && code <= 0xdbff;
}

/** What a tool shows is checked here and copied: it may wait, and the tool may change it meanwhile. */
function copyShown(event: ShownEvent): { readonly copy: LoomEvent; readonly bytes: number } {
  const type: unknown = (event as ShownEvent | undefined)?.type;
  if (typeof type !== "string" || !SHOWN.has(type))
    throw new LoomError("invalid_event", `a tool shows ${[...SHOWN].join(", ")}, not ${describeValue(type)}`);
  let text: string;
  try {
    text = JSON.stringify(event);
  } catch (cause) {
    throw new LoomError("invalid_event", `\`${type}\` cannot be written as JSON`, {}, { cause });
  }
  const copy = JSON.parse(text) as LoomEvent & JsonObject;
  const fault = findLoomEventFault(copy);
  if (fault !== undefined) throw new LoomError("invalid_event", `\`${type}\`: ${fault.message}`, { path: fault.path });
  return { copy, bytes: Buffer.byteLength(text) };
}
