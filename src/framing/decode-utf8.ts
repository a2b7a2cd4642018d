/**
 * UTF-8 to text, or undefined where the bytes are not UTF-8.
 *
 * Not a fatal TextDecoder: that one throws, at about 3 µs a time, so a sender of two-byte bad lines could
 * buy a second of our CPU with a megabyte. A lenient decoder marks every fault with U+FFFD; text without that
 * mark is sound, and text with it is sound only if it encodes back to the same bytes.
 */

const REPLACEMENT = "\uFFFD";

// ignoreBOM keeps U+FEFF in the text: only the start of a stream may drop it, and LineSplitter does.
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const encoder = new TextEncoder();

export function decodeUtf8(bytes: Uint8Array): string | undefined {
  const text = decoder.decode(bytes);
  return text.includes(REPLACEMENT) && !isSame(encoder.encode(text), bytes) ? undefined : text;
}

/** Pieces shorter than this are decoded leniently: a throw is only cheap beside many lines. */
const LARGE_PIECE = 4096;
const strictDecoder = new TextDecoder("utf-8", { ignoreBOM: true, fatal: true });

/** The same for a piece of many lines. The strict decoder spares looking through the text for marks. */
export function decodeLines(bytes: Uint8Array): string | undefined {
  if (bytes.length < LARGE_PIECE) return decodeUtf8(bytes);
  try {
    return strictDecoder.decode(bytes);
  } catch {
    return undefined;
  }
}

/** How many bytes the text takes as UTF-8. */
export function measureUtf8(text: string): number {
  return encoder.encode(text).length;
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
