/**
 * Decodes the bytes of a text file: UTF-8, UTF-16 with or without a byte order mark, the charset declared by the
 * document, and GB 18030 for older Chinese files. Any other encoding is rejected rather than guessed, because most
 * bytes of older encodings are also valid GB 18030.
 */
import { setImmediate as yieldToLoop } from "node:timers/promises";
import { LoomError } from "../../protocol/index.ts";

const SNIFF_BYTES = 4096;
/** Bytes read in one turn of the event loop. */
const CHUNK_BYTES = 128 * 1024;
/** A text with at most one invalid character per this many characters is accepted. */
const TOLERANCE = 1000;
/** Minimum number of Chinese characters needed to recognize GB 18030. */
const MIN_CHINESE = 6;

/**
 * Decodes a file without its byte order mark. `charset` is the one the document declares. Throws `unreadable_document`.
 */
export async function decodeText(bytes: Uint8Array, charset?: string): Promise<string> {
  const text = await decode(bytes, charset);
  return text.startsWith("\ufeff") ? text.slice(1) : text;
}

async function decode(bytes: Uint8Array, charset: string | undefined): Promise<string> {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return join(decodeChunks(bytes, new TextDecoder("utf-16le")));
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return join(decodeChunks(bytes, new TextDecoder("utf-16be")));
  const wide = findWide(bytes);
  if (wide !== undefined) return join(decodeChunks(bytes, new TextDecoder(wide)));
  if (bytes.subarray(0, SNIFF_BYTES).includes(0))
    throw new LoomError("unreadable_document", "The file is not text: it contains zero bytes");
  const strict =
    (await tryDecode(bytes, "utf-8")) ?? (charset === undefined ? undefined : await tryDecode(bytes, charset));
  if (strict !== undefined) return strict;
  const loose = await decodeLoosely(bytes);
  if (loose !== undefined) return loose;
  const chinese = (await isChinese(bytes)) ? await tryDecode(bytes, "gb18030") : undefined;
  if (chinese !== undefined) return chinese;
  const what = isLatin(bytes) ? "seems to be Latin-1 (ISO 8859-1 or Windows-1252)" : "has an unknown text encoding";
  throw new LoomError("unreadable_document", `The file ${what}. Convert it to UTF-8.`);
}

/** Decodes UTF-8 with a few invalid characters. Returns undefined, as early as possible, if there are too many. */
async function decodeLoosely(bytes: Uint8Array): Promise<string | undefined> {
  let text = "";
  let faults = 0;
  for await (const part of decodeChunks(bytes, new TextDecoder())) {
    text += part;
    for (let at = part.indexOf("\ufffd"); at >= 0; at = part.indexOf("\ufffd", at + 1)) faults++;
    // A text has at most as many characters as bytes.
    if (faults > bytes.length / TOLERANCE) return undefined;
  }
  return faults <= Math.floor(text.length / TOLERANCE) ? text : undefined;
}

/** Yields to the event loop after each chunk. */
async function* decodeChunks(bytes: Uint8Array, decoder: TextDecoder): AsyncGenerator<string> {
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) {
    if (at > 0) await yieldToLoop();
    yield decoder.decode(bytes.subarray(at, at + CHUNK_BYTES), { stream: true });
  }
  yield decoder.decode();
}

async function join(parts: AsyncIterable<string>): Promise<string> {
  let text = "";
  for await (const part of parts) text += part;
  return text;
}

async function tryDecode(bytes: Uint8Array, charset: string): Promise<string | undefined> {
  try {
    return await join(decodeChunks(bytes, new TextDecoder(charset, { fatal: true })));
  } catch {
    return undefined;
  }
}

/** Detects UTF-16 without a byte order mark: every other byte of its ASCII characters is zero. */
function findWide(bytes: Uint8Array): "utf-16le" | "utf-16be" | undefined {
  const length = Math.min(bytes.length, SNIFF_BYTES) & ~1;
  const zeros = [0, 0];
  for (let at = 0; at < length; at++) if (bytes[at] === 0) zeros[at % 2] = (zeros[at % 2] ?? 0) + 1;
  const [even = 0, odd = 0] = zeros;
  if (length < 4 || even + odd < length / 8) return undefined;
  if (even === 0) return "utf-16le";
  return odd === 0 ? "utf-16be" : undefined;
}

/**
 * Whether the bytes are certainly Chinese in GB 2312, the subset of GB 18030 that nearly all such texts use. A
 * character has two bytes from 0xa1 on, and common characters are sorted by pronunciation, so a text uses the whole
 * range. Korean uses only the lower half, Cyrillic only the upper half or rare characters, Japanese contains kana, and
 * Latin texts contain single bytes.
 */
async function isChinese(bytes: Uint8Array): Promise<boolean> {
  const counts = { all: 0, marks: 0, common: 0, early: 0, late: 0, low: 0 };
  for (let at = 0, turn = CHUNK_BYTES; at < bytes.length; at += 1) {
    if (at >= turn) {
      await yieldToLoop();
      turn += CHUNK_BYTES;
    }
    const lead = bytes[at] ?? 0;
    if (lead < 0x80) continue;
    at += 1;
    const trail = bytes[at] ?? 0;
    counts.all += 1;
    // Full-width punctuation.
    if ((lead === 0xa1 || lead === 0xa3) && trail >= 0xa1) counts.marks += 1;
    if (lead < 0xb0 || lead > 0xd7 || trail < 0xa1) continue;
    counts.common += 1;
    if (lead < 0xc0) counts.early += 1;
    if (lead > 0xc8) counts.late += 1;
    if (trail < 0xc0) counts.low += 1;
  }
  const { all, marks, common, early, late, low } = counts;
  const spread = Math.min(early, late, low);
  return common >= MIN_CHINESE && common + marks >= all * 0.9 && spread >= common * 0.1;
}

/** Non-ASCII letters appear alone or in pairs between ASCII characters. */
function isLatin(bytes: Uint8Array): boolean {
  let run = 0;
  for (let at = 0; at < bytes.length && run <= 2; at += 1) run = (bytes[at] ?? 0) < 0x80 ? 0 : run + 1;
  return run <= 2;
}
