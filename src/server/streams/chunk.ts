/**
 * Frames that follow one another, and the bytes they are sent as. Whoever needs them in the same form gets the same
 * bytes, which are made once: nobody may change them.
 */
import { encodeNdjson, encodeSse } from "../../framing/index.ts";
import type { DialectName } from "../../dialects/index.ts";
import type { StreamFrame } from "../../log/index.ts";
import { encodeControl } from "../../protocol/control/index.ts";
import { encodeTextMessage } from "../sockets/encode-text-message.ts";

/**
 * - `sse`, `ndjson`: as they are.
 * - `sse-http`, `ndjson-http`: the same as one chunk of HTTP's chunked transfer coding.
 * - `control`: one WebSocket message, the `frames` of the control protocol.
 * - `messages`: a WebSocket message for each frame.
 */
export type ChunkForm = "sse" | "ndjson" | "sse-http" | "ndjson-http" | "control" | "messages";

export interface ChunkOrigin {
  readonly session: string;
  readonly dialect: DialectName;
}

export class Chunk {
  readonly origin: ChunkOrigin;
  /** At least one. */
  readonly frames: readonly StreamFrame[];
  /** True where the end of a run may be among the records: whoever waits for one looks. */
  readonly mayEndRun: boolean;
  readonly #made = new Map<ChunkForm, Buffer>();
  #control: string | undefined;
  #textBytes: number | undefined;

  constructor(origin: ChunkOrigin, frames: readonly StreamFrame[], mayEndRun: boolean) {
    this.origin = origin;
    this.frames = frames;
    this.mayEndRun = mayEndRun;
  }

  /** Where to go on after it. */
  get cursor(): string {
    return this.frames.at(-1)?.cursor ?? "";
  }

  /** Bytes of the texts of its frames, without what stands around them. */
  get textBytes(): number {
    this.#textBytes ??= this.frames.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
    return this.#textBytes;
  }

  /** The `frames` of the control protocol, as a text. */
  get controlText(): string {
    this.#control ??= this.#writeControl();
    return this.#control;
  }

  bytes(form: ChunkForm): Buffer {
    const known = this.#made.get(form);
    if (known !== undefined) return known;
    const made = this.#make(form);
    this.#made.set(form, made);
    return made;
  }

  #writeControl(): string {
    const { session, dialect } = this.origin;
    const frames = this.frames.map(({ text }) => text);
    return encodeControl({ type: "frames", session, dialect, frames, cursor: this.cursor });
  }

  #make(form: ChunkForm): Buffer {
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
