/** Encodes a text as one WebSocket message from a server: a single frame, unmasked, not compressed. */

const FIN_TEXT = 0x81;

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
