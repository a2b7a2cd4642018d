/**
 * Splits the bytes from a server into units: the head of a response, a chunk of its body, or a WebSocket message, and
 * reports where frames end inside them. All bytes pass unchanged, including data it does not understand.
 */
export interface DownUnit {
  readonly bytes: Buffer;
  /** Offsets in `bytes` just after the last byte of each frame. */
  readonly frameEnds: readonly number[];
  /** A whole chunk with frames, or a whole WebSocket message, which can be sent twice. */
  readonly isWhole: boolean;
}

type Mode = "head" | "chunked" | "socket" | "plain";

export class UnitSplitter {
  #rest: Buffer = Buffer.alloc(0);
  #mode: Mode = "head";
  /** Remaining bytes of a body with a content length. */
  #left = 0;
  /** Ends a frame within a body. */
  #mark: Buffer = Buffer.from("\n");

  push(piece: Buffer): readonly DownUnit[] {
    this.#rest = this.#rest.length === 0 ? piece : Buffer.concat([this.#rest, piece]);
    const units: DownUnit[] = [];
    for (let unit = this.#next(); unit !== undefined; unit = this.#next()) {
      this.#rest = this.#rest.subarray(unit.bytes.length);
      units.push(unit);
    }
    return units;
  }

  /** Returns the incomplete rest. */
  end(): DownUnit | undefined {
    return this.#rest.length === 0 ? undefined : { bytes: this.#rest, frameEnds: [], isWhole: false };
  }

  #next(): DownUnit | undefined {
    const rest = this.#rest;
    if (rest.length === 0) return undefined;
    if (this.#mode === "head") return this.#readHead(rest);
    if (this.#mode === "chunked") return this.#readChunk(rest);
    if (this.#mode === "socket") return readMessage(rest);
    return this.#readPlain(rest);
  }

  #readPlain(rest: Buffer): DownUnit {
    const bytes = rest.subarray(0, this.#left);
    this.#left -= bytes.length;
    if (this.#left === 0) this.#mode = "head";
    return { bytes, frameEnds: [], isWhole: false };
  }

  #readHead(rest: Buffer): DownUnit | undefined {
    const end = rest.indexOf("\r\n\r\n");
    if (end === -1) return undefined;
    const head = rest.toString("latin1", 0, end).toLowerCase();
    if (head.startsWith("http/1.1 101")) this.#mode = "socket";
    else if (head.includes("transfer-encoding: chunked")) this.#mode = "chunked";
    else {
      const isEmpty = /^http\/1\.1 [23]04/.test(head);
      this.#left = isEmpty ? 0 : Number(/^content-length: (\d+)/m.exec(head)?.[1] ?? Number.POSITIVE_INFINITY);
      this.#mode = this.#left === 0 ? "head" : "plain";
    }
    // An NDJSON line ends an object; the line ends of chunk headers do not.
    this.#mark = Buffer.from(head.includes("text/event-stream") ? "\n\n" : "}\n");
    return { bytes: rest.subarray(0, end + 4), frameEnds: [], isWhole: false };
  }

  #readChunk(rest: Buffer): DownUnit | undefined {
    const lineEnd = rest.indexOf("\r\n");
    if (lineEnd === -1) return undefined;
    const size = Number.parseInt(rest.toString("latin1", 0, lineEnd), 16);
    const end = lineEnd + 2 + size + 2;
    if (rest.length < end) return undefined;
    // The next response on this connection starts with a head.
    if (size === 0) this.#mode = "head";
    const bytes = rest.subarray(0, end);
    const frameEnds: number[] = [];
    let at = size === 0 ? -1 : bytes.indexOf(this.#mark, lineEnd + 2);
    for (; at !== -1; at = bytes.indexOf(this.#mark, at + this.#mark.length)) frameEnds.push(at + this.#mark.length);
    return { bytes, frameEnds, isWhole: frameEnds.length > 0 };
  }
}

/** Reads an unmasked WebSocket message. */
function readMessage(rest: Buffer): DownUnit | undefined {
  if (rest.length < 2) return undefined;
  const short = (rest[1] as number) & 0x7f;
  const at = short < 126 ? 2 : short === 126 ? 4 : 10;
  if (rest.length < at) return undefined;
  const length = short < 126 ? short : short === 126 ? rest.readUInt16BE(2) : Number(rest.readBigUInt64BE(2));
  if (rest.length < at + length) return undefined;
  const isText = ((rest[0] as number) & 0x0f) === 1;
  const bytes = rest.subarray(0, at + length);
  return { bytes, frameEnds: isText ? [bytes.length] : [], isWhole: isText };
}
