/** The answer to a ping, as bytes for the socket below a WebSocket: what it brought, unmasked, in one frame. */
const PONG = 0x8a;

/** RFC 6455 §5.5: a control frame has at most 125 bytes, so that its length stands in one. */
export function encodePong(payload: Buffer): Buffer {
  return Buffer.concat([Buffer.from([PONG, payload.length]), payload]);
}
