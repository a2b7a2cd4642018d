/**
 * Consecutive frames and their encoded bytes. Each encoding is computed once and shared by all readers, so the returned
 * buffers must not be modified.
 */
import { encodeNdjson, encodeSse } from "../../framing/index.ts";
import type { DialectName } from "../../dialects/index.ts";
import type { StreamFrame } from "../../log/index.ts";
import { encodeControl } from "../../protocol/control/index.ts";
import { measureText } from "../../log/measure-text.ts";
import { readPosition } from "./position.ts";

/**
 * How a batch is encoded:
 * - `sse`, `ndjson`: the body as text.
 * - `sse-http`, `ndjson-http`: the same, as one chunk of HTTP chunked transfer encoding.
 * - `control`: one WebSocket message, a `frames` frame of the control protocol.
 * - `messages`: one WebSocket message per frame.
 */
export type BatchForm = "sse" | "ndjson" | "sse-http" | "ndjson-http" | "control" | "messages";

export interface BatchOrigin {
  readonly session: string;
  readonly dialect: DialectName;
}

export class FrameBatch {
  readonly origin: BatchOrigin;
  /** Never empty. */
  readonly frames: readonly StreamFrame[];
  /** Whether a run may have ended in these records. Readers of a single run then query the log. */
  readonly mayEndRun: boolean;
  readonly #encoded = new Map<BatchForm, Buffer>();
  #control: string | undefined;
  #textBytes: number | undefined;
  #encodedBytes = 0;
  /** Called with the bytes of each encoding that is kept from now on. */
  onGrow: ((bytes: number) => void) | undefined;

  constructor(origin: BatchOrigin, frames: readonly StreamFrame[], mayEndRun: boolean) {
    this.origin = origin;
    this.frames = frames;
    this.mayEndRun = mayEndRun;
  }

  /** The cursor of the last frame. A client resumes after it. */
  get cursor(): string {
    return this.frames.at(-1)?.cursor ?? "";
  }

  /** Bytes of the frame texts, without framing. */
  get textBytes(): number {
    this.#textBytes ??= this.frames.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
    return this.#textBytes;
  }

  /** Approximate memory of the frames in bytes, without encodings. */
  get heldBytes(): number {
    return this.frames.reduce((sum, { text }) => sum + FRAME_BYTES + measureText(text), BATCH_BYTES);
  }

  /** Approximate memory of the encodings so far. */
  get encodedBytes(): number {
    return this.#encodedBytes;
  }

  /** The `frames` frame of the control protocol. */
  get controlText(): string {
    if (this.#control === undefined) {
      this.#control = this.#encodeControlText();
      this.#grow(measureText(this.#control));
    }
    return this.#control;
  }

  bytes(form: BatchForm): Buffer {
    const known = this.#encoded.get(form);
    if (known !== undefined) return known;
    const bytes = this.#encode(form);
    this.#encoded.set(form, bytes);
    this.#grow(ENCODING_BYTES + bytes.length);
    return bytes;
  }

  #grow(bytes: number): void {
    this.#encodedBytes += bytes;
    this.onGrow?.(bytes);
  }

  #encodeControlText(): string {
    const { session, dialect } = this.origin;
    const frames = this.frames.map(({ text }) => text);
    return encodeControl({ type: "frames", session, dialect, frames, cursor: this.cursor });
  }

  #encode(form: BatchForm): Buffer {
    switch (form) {
      case "sse":
        return Buffer.from(this.frames.map(writeSse).join(""));
      case "ndjson":
        return Buffer.from(this.frames.map(({ text }) => encodeNdjson(text)).join(""));
      case "sse-http":
        return encodeHttpChunk(this.#encode("sse"));
      case "ndjson-http":
        return encodeHttpChunk(this.#encode("ndjson"));
      case "control":
        return encodeTextMessage(this.#control ?? this.#encodeControlText());
      case "messages":
        return Buffer.concat(this.frames.map(({ text }) => encodeTextMessage(text)));
    }
  }
}

/** Approximate memory of a batch without its frames, of a frame without its text, and of an encoding without its bytes. */
const BATCH_BYTES = 384;
const FRAME_BYTES = 144;
const ENCODING_BYTES = 160;

/** A frame without a cursor gets no ID, so that the client keeps the one it has. */
function writeSse({ text, cursor }: StreamFrame): string {
  return encodeSse(cursor === "" ? { data: text } : { id: cursor, data: text });
}

const LINE_END = Buffer.from("\r\n");

function encodeHttpChunk(bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, LINE_END]);
}

const FIN_TEXT = 0x81;

/** Encodes a text as one WebSocket message from a server: a single frame, unmasked, not compressed. */
export function encodeTextMessage(text: string): Buffer {
  const length = Buffer.byteLength(text);
  const head = length < 126 ? 2 : length < 65_536 ? 4 : 10;
  const bytes = Buffer.allocUnsafe(head + length);
  bytes[0] = FIN_TEXT;
  if (head === 2) bytes[1] = length;
  else if (head === 4) {
    bytes[1] = 126;
    bytes.writeUInt16BE(length, 2);
  } else {
    bytes[1] = 127;
    bytes.writeBigUInt64BE(BigInt(length), 2);
  }
  bytes.write(text, head, "utf8");
  return bytes;
}

/**
 * Decides where a stream ends: returns the frame that is sent last, instead of this one; undefined if the stream continues.
 */
export type EndAt = (frame: StreamFrame) => StreamFrame | undefined;

/** Returns the frames up to the one that ends the stream, which `endAt` replaces. Undefined if the stream continues. */
export function cutAtEnd(batch: FrameBatch | undefined, endAt: EndAt | undefined): FrameBatch | undefined {
  if (batch === undefined || endAt === undefined) return undefined;
  const { frames, origin, mayEndRun } = batch;
  for (const [index, frame] of frames.entries()) {
    const last = endAt(frame);
    if (last !== undefined) return new FrameBatch(origin, [...frames.slice(0, index), last], mayEndRun);
  }
  return undefined;
}

/** Returns at most `count` frames of the batch, and only frames of records up to `lastId`. */
export function cutBatch(
  batch: FrameBatch | undefined,
  count: number,
  lastId = Number.POSITIVE_INFINITY,
): FrameBatch | undefined {
  if (batch === undefined) return undefined;
  const { frames, origin, mayEndRun } = batch;
  let length = Math.min(frames.length, count);
  if (Number.isFinite(lastId))
    while (length > 0 && readPosition(frames[length - 1]?.cursor ?? "").eventId > lastId) length--;
  if (length === frames.length) return batch;
  return length === 0 ? undefined : new FrameBatch(origin, frames.slice(0, length), mayEndRun);
}
