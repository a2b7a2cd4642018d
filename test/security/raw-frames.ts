// Writes WebSocket frames, including invalid ones, and reads the frames of a server.

export interface FrameOptions {
  readonly isFinal?: boolean;
  /** RSV1 is 4, RSV2 is 2, RSV3 is 1. */
  readonly reserved?: number;
  readonly isMasked?: boolean;
  /** Length in the header (default: length of the payload). Lengths over 65535 use the 64-bit form. */
  readonly length?: bigint;
}

export const OPCODE = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

const MASK = Buffer.from([0x37, 0xfa, 0x21, 0x3d]);

export function makeFrame(opcode: number, payload: Buffer | string = "", options: FrameOptions = {}): Buffer {
  const { isFinal = true, reserved = 0, isMasked = true } = options;
  const body = Buffer.from(payload);
  const length = options.length ?? BigInt(body.length);
  const head = [(isFinal ? 0x80 : 0) | (reserved << 4) | opcode];
  const size = Buffer.alloc(8);
  size.writeBigUInt64BE(length);
  const mask = isMasked ? 0x80 : 0;
  if (length < 126n) head.push(mask | Number(length));
  else if (length < 65_536n) head.push(mask | 126, ...size.subarray(6));
  else head.push(mask | 127, ...size);
  if (!isMasked) return Buffer.concat([Buffer.from(head), body]);
  return Buffer.concat([Buffer.from(head), MASK, body.map((byte, at) => byte ^ (MASK[at % 4] ?? 0))]);
}

export interface ReadFrame {
  readonly opcode: number;
  readonly payload: Buffer;
}

/** Reads all complete frames after the response head. Servers send unmasked, unfragmented frames. */
export function readFrames(received: string): readonly ReadFrame[] {
  const end = received.indexOf("\r\n\r\n");
  if (end < 0) return [];
  const bytes = Buffer.from(received.slice(end + 4), "latin1");
  const frames: ReadFrame[] = [];
  for (let at = 0; at + 2 <= bytes.length;) {
    const short = (bytes[at + 1] ?? 0) & 0x7f;
    const more = short === 127 ? 8 : short === 126 ? 2 : 0;
    if (at + 2 + more > bytes.length) break;
    const length = more === 8 ? Number(bytes.readBigUInt64BE(at + 2)) : more === 2 ? bytes.readUInt16BE(at + 2) : short;
    const start = at + 2 + more;
    if (start + length > bytes.length) break;
    frames.push({ opcode: (bytes[at] ?? 0) & 0xf, payload: bytes.subarray(start, start + length) });
    at = start + length;
  }
  return frames;
}

/** Code of the close frame; undefined if there is none. */
export function readCloseCode(received: string): number | undefined {
  const close = readFrames(received).find(({ opcode }) => opcode === OPCODE.close);
  return close === undefined || close.payload.length < 2 ? undefined : close.payload.readUInt16BE(0);
}
