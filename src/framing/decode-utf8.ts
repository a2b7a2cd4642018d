/**
 * Decodes UTF-8; returns undefined for invalid bytes.
 *
 * A fatal TextDecoder throws, which takes about 3 µs, so a sender of many short invalid lines could use up the CPU. A
 * lenient decoder writes U+FFFD for each invalid sequence. Text without U+FFFD is valid; text with it is valid only if
 * it encodes to the same bytes.
 */

const REPLACEMENT = "\uFFFD";

// ignoreBOM keeps U+FEFF in the text: LineSplitter removes it, and only at the start of the stream.
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const encoder = new TextEncoder();

export function decodeUtf8(bytes: Uint8Array): string | undefined {
  const text = decoder.decode(bytes);
  return text.includes(REPLACEMENT) && !isSame(encoder.encode(text), bytes) ? undefined : text;
}

/** In bytes. Shorter pieces are decoded leniently: the cost of a throw is only acceptable for many lines. */
const LARGE_PIECE = 4096;
const strictDecoder = new TextDecoder("utf-8", { ignoreBOM: true, fatal: true });

/** Like `decodeUtf8`, for a piece of many lines. The strict decoder avoids searching the text for U+FFFD. */
export function decodeLines(bytes: Uint8Array): string | undefined {
  if (bytes.length < LARGE_PIECE) return decodeUtf8(bytes);
  try {
    return strictDecoder.decode(bytes);
  } catch {
    return undefined;
  }
}

/** Returns the length of the text in UTF-8 bytes. */
export function measureUtf8(text: string): number {
  return encoder.encode(text).length;
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
