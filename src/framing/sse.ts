/**
 * Server-sent events, following the event stream algorithm of the WHATWG HTML standard (section 9.2.6).
 *
 * It differs only where the standard would hide data loss: invalid UTF-8, a line or event beyond the limit, and an
 * event cut off by the end of the stream are reported, once per event, instead of being replaced or dropped.
 *
 *   between events ── field ──▶ in an event ── blank line ──▶ frame if it has data ──▶ between events
 *                                  ├── fault ──▶ reported, skipped up to its blank line ──▶ between events
 *                                  └── end of stream ──▶ unfinished_event
 */
import { measureUtf8 } from "./decode-utf8.ts";
import {
  resolveMaxLineBytes,
  type FrameDecoder,
  type FrameOutcome,
  type FramingFault,
  type FramingOptions,
} from "./frame.ts";
import { LineSplitter, type LineFault } from "./line-splitter.ts";

type CompleteFrame = Extract<FrameOutcome, { ok: true }>;
type MutableFrame = { -readonly [K in keyof CompleteFrame]: CompleteFrame[K] };

/**
 * Creates a decoder for server-sent events. A frame's `id` is the last ID in the stream, even if the event itself has
 * none; an empty ID counts as none.
 *
 * ```ts
 * for await (const frames of readFrames(response.body, createSseDecoder())) console.log(frames);
 * ```
 */
export function createSseDecoder(options: FramingOptions = {}): FrameDecoder {
  const events = new EventReader(resolveMaxLineBytes(options));
  const lines = new LineSplitter(events, options);
  return {
    push(chunk) {
      lines.push(chunk);
      return events.takeBatch();
    },
    end() {
      events.beginEnd();
      lines.end();
      events.end();
      return events.takeBatch();
    },
  };
}

class EventReader {
  readonly #maxDataBytes: number;
  #batch: FrameOutcome[] = [];
  // State of the stream
  #lastId = "";
  #retry: number | undefined;
  #ending = false;
  // State of the current event
  #firstLine = 0;
  #dataLine = 0;
  #data: string | undefined;
  #dataBytes: number | undefined;
  #event = "";
  #skipping = false;

  constructor(maxDataBytes: number) {
    this.#maxDataBytes = maxDataBytes;
  }

  takeBatch(): FrameOutcome[] {
    const full = this.#batch;
    this.#batch = [];
    return full;
  }

  line(text: string, number: number): void {
    if (text === "") {
      this.#dispatch();
      return;
    }
    const colon = text.indexOf(":");
    if (colon === 0) return;
    if (this.#firstLine === 0) this.#firstLine = number;
    if (colon === -1) {
      this.#setField(text, "", number);
      return;
    }
    const value = text.slice(text.charCodeAt(colon + 1) === 0x20 ? colon + 2 : colon + 1);
    this.#setField(text.slice(0, colon), value, number);
  }

  fault(reason: LineFault, number: number, detail: string): void {
    if (this.#firstLine === 0) this.#firstLine = number;
    // If the stream was cut inside a character, `end` reports the cut instead.
    if (this.#ending && reason === "invalid_utf8") return;
    this.#skip(reason, number, detail);
  }

  /** The stream has ended: a line that follows is its unfinished last line. */
  beginEnd(): void {
    this.#ending = true;
  }

  end(): void {
    if (this.#firstLine !== 0 && !this.#skipping) {
      const line = this.#data === undefined ? this.#firstLine : this.#dataLine;
      this.#skip("unfinished_event", line, "the stream ended inside an event");
    }
    this.#reset();
  }

  // A skipped event still sets ID and retry time, because they belong to the stream.
  #setField(name: string, value: string, number: number): void {
    switch (name) {
      case "data":
        if (!this.#skipping) this.#addData(value, number);
        break;
      case "event":
        this.#event = value;
        break;
      case "id":
        if (!value.includes("\0")) this.#lastId = value;
        break;
      case "retry":
        if (/^[0-9]+$/.test(value) && Number.isSafeInteger(Number(value))) this.#retry = Number(value);
        break;
      default:
        break;
    }
  }

  #addData(value: string, number: number): void {
    if (this.#data === undefined) {
      // A single line is within the limit, so only events with several data lines are measured.
      this.#data = value;
      this.#dataLine = number;
      return;
    }
    this.#dataBytes = (this.#dataBytes ?? measureUtf8(this.#data)) + 1 + measureUtf8(value);
    if (this.#dataBytes > this.#maxDataBytes) {
      this.#skip("line_too_long", this.#dataLine, `event data is longer than ${this.#maxDataBytes} bytes`);
    } else this.#data += `\n${value}`;
  }

  #skip(reason: FramingFault, line: number, detail: string): void {
    if (!this.#skipping) this.#batch.push({ ok: false, reason, line, detail });
    this.#skipping = true;
    this.#data = undefined;
  }

  #dispatch(): void {
    if (this.#data !== undefined) {
      const frame: MutableFrame = { ok: true, text: this.#data, line: this.#dataLine };
      if (this.#lastId !== "") frame.id = this.#lastId;
      if (this.#event !== "") frame.event = this.#event;
      if (this.#retry !== undefined) frame.retry = this.#retry;
      this.#retry = undefined;
      this.#batch.push(frame);
    }
    this.#reset();
  }

  #reset(): void {
    this.#firstLine = 0;
    this.#data = undefined;
    this.#dataBytes = undefined;
    this.#event = "";
    this.#skipping = false;
  }
}

/** The fields of an event. */
export interface SseEvent {
  readonly data: string;
  readonly id?: string;
  readonly event?: string;
  readonly retry?: number;
}

/**
 * Encodes one event. Line breaks in the data arrive as LF, because the format cannot distinguish them. Throws a TypeError
 * if `id` or `event` has a line break, or if `retry` is not a number of milliseconds.
 *
 * ```ts
 * response.write(encodeSse({ data: JSON.stringify(frame), id: cursor }));
 * ```
 */
export function encodeSse({ data, id, event, retry }: SseEvent): string {
  let text = "";
  if (id !== undefined) text += `id: ${checkOneLine("id", id)}\n`;
  if (event !== undefined) text += `event: ${checkOneLine("event", event)}\n`;
  if (retry !== undefined) {
    if (!Number.isSafeInteger(retry) || retry < 0) {
      throw new TypeError(`SSE retry must be an integer number of milliseconds, not ${retry}`);
    }
    text += `retry: ${retry}\n`;
  }
  return `${text}${prefixLines("data: ", data)}\n`;
}

/**
 * Encodes a comment, which receivers ignore; used as a heartbeat. The blank line at the end helps parsers that split on
 * blank lines.
 */
export function encodeSseComment(text: string): string {
  return `${prefixLines(": ", text)}\n`;
}

function prefixLines(prefix: string, text: string): string {
  // JSON has no raw line breaks, so almost all data is a single line.
  if (!/[\r\n]/.test(text)) return `${prefix}${text}\n`;
  let lines = "";
  for (const line of text.split(/\r\n|\r|\n/)) lines += `${prefix}${line}\n`;
  return lines;
}

function checkOneLine(field: string, value: string): string {
  // A line break would allow the value to inject fields; receivers ignore an ID that contains NUL.
  if (/[\r\n\0]/.test(value)) throw new TypeError(`An SSE ${field} must not contain a line break or NUL`);
  return value;
}
