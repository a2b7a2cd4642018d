/**
 * The text that bytes stand for: UTF-8, UTF-16 with or without its mark, and GB 18030, which much of what was written in
 * Chinese is in. Bytes that are no text are named, never guessed into one.
 */
import { LoomError } from "../../protocol/index.ts";

const SNIFF_BYTES = 4096;
/** Wrong characters of a text that is taken all the same: one in so many. */
const TOLERANCE = 1000;

/** Throws `unreadable_document`. `charset` is what the document itself says. */
export function decodeText(bytes: Uint8Array, charset?: string): string {
  const text = decode(bytes, charset);
  return text.startsWith("\ufeff") ? text.slice(1) : text;
}

function decode(bytes: Uint8Array, charset: string | undefined): string {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return new TextDecoder("utf-16le").decode(bytes);
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return new TextDecoder("utf-16be").decode(bytes);
  const wide = findWide(bytes);
  if (wide !== undefined) return new TextDecoder(wide).decode(bytes);
  if (bytes.subarray(0, SNIFF_BYTES).includes(0))
    throw new LoomError("unreadable_document", "The file is not a text: it holds zero bytes.");
  const strict = tryDecode(bytes, "utf-8") ?? (charset === undefined ? undefined : tryDecode(bytes, charset));
  if (strict !== undefined) return strict;
  const loose = new TextDecoder().decode(bytes);
  const wrong = loose.split("\ufffd").length - 1;
  if (wrong * TOLERANCE <= loose.length) return loose;
  const chinese = tryDecode(bytes, "gb18030");
  if (chinese !== undefined && isChinese(chinese)) return chinese;
  throw new LoomError("unreadable_document", "The file is not a text in UTF-8, UTF-16 or GB 18030.");
}

function tryDecode(bytes: Uint8Array, charset: string): string | undefined {
  try {
    return new TextDecoder(charset, { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** UTF-16 without its mark: every other byte of what is Latin in it is zero. */
function findWide(bytes: Uint8Array): "utf-16le" | "utf-16be" | undefined {
  const length = Math.min(bytes.length, SNIFF_BYTES) & ~1;
  const zeros = [0, 0];
  for (let at = 0; at < length; at++) if (bytes[at] === 0) zeros[at % 2] = (zeros[at % 2] ?? 0) + 1;
  const [even = 0, odd = 0] = zeros;
  if (length < 4 || even + odd < length / 8) return undefined;
  if (even === 0) return "utf-16le";
  return odd === 0 ? "utf-16be" : undefined;
}

/** Almost any bytes are GB 18030; common characters are a sign that they were meant to be. */
function isChinese(text: string): boolean {
  const beyond = text.replaceAll(/\p{ASCII}/gu, "");
  const common = beyond.match(/[\u4e00-\u9fff\u3000-\u303f\uff00-\uff5e]/g)?.length ?? 0;
  return common >= beyond.length * 0.9;
}
