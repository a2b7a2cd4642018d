/**
 * Consecutive frames and their encoded bytes. Each encoding is computed once and shared by all readers, so the returned
 * buffers must not be modified.
 */
import { encodeNdjson, encodeSse } from "../../framing/index.ts";
import type { DialectName } from "../../dialects/index.ts";
import type { StreamFrame } from "../../log/index.ts";
import { encodeControl } from "../../protocol/control/index.ts";
import { encodeTextMessage } from "./encode-text-message.ts";

/**
 * How a chunk is encoded:
 * - `sse`, `ndjson`: the body as text.
 * - `sse-http`, `ndjson-http`: the same, as one chunk of HTTP chunked transfer encoding.
 * - `control`: one WebSocket message, a `frames` frame of the control protocol.
 * - `messages`: one WebSocket message per frame.
 */
export type ChunkForm = "sse" | "ndjson" | "sse-http" | "ndjson-http" | "control" | "messages";

export interface ChunkOrigin {
  readonly session: string;
  readonly dialect: DialectName;
}

export class Chunk {
  readonly origin: ChunkOrigin;
  /** Never empty. */
  readonly frames: readonly StreamFrame[];
  /** Whether a run may have ended in these records. Readers of a single run then query the log. */
  readonly mayEndRun: boolean;
  readonly #encoded = new Map<ChunkForm, Buffer>();
  #control: string | undefined;
  #textBytes: number | undefined;

  constructor(origin: ChunkOrigin, frames: readonly StreamFrame[], mayEndRun: boolean) {
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

  /** The `frames` frame of the control protocol. */
  get controlText(): string {
    this.#control ??= this.#encodeControlText();
    return this.#control;
  }

  bytes(form: ChunkForm): Buffer {
    const known = this.#encoded.get(form);
    if (known !== undefined) return known;
    const bytes = this.#encode(form);
    this.#encoded.set(form, bytes);
    return bytes;
  }

  #encodeControlText(): string {
    const { session, dialect } = this.origin;
    const frames = this.frames.map(({ text }) => text);
    return encodeControl({ type: "frames", session, dialect, frames, cursor: this.cursor });
  }

  #encode(form: ChunkForm): Buffer {
    switch (form) {
      case "sse":
        return Buffer.from(this.frames.map(({ text, cursor }) => encodeSse({ id: cursor, data: text })).join(""));
      case "ndjson":
        return Buffer.from(this.frames.map(({ text }) => encodeNdjson(text)).join(""));
      case "sse-http":
        return encodeHttpChunk(this.bytes("sse"));
      case "ndjson-http":
        return encodeHttpChunk(this.bytes("ndjson"));
      case "control":
        return encodeTextMessage(this.controlText);
      case "messages":
        return Buffer.concat(this.frames.map(({ text }) => encodeTextMessage(text)));
    }
  }
}

const LINE_END = Buffer.from("\r\n");

function encodeHttpChunk(bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, LINE_END]);
}
