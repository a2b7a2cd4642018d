/** Encodes a WebSocket pong frame: unmasked, with the payload of the ping. */
const PONG = 0x8a;

/** The payload has at most 125 bytes (RFC 6455 §5.5), so its length fits into one byte. */
export function encodePong(payload: Buffer): Buffer {
  return Buffer.concat([Buffer.from([PONG, payload.length]), payload]);
}
