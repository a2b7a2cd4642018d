/** Formats documents and search hits for a terminal. Lines always fit its width. */
import type { DocumentInfo, SearchHit } from "../../context/index.ts";
import { cleanText, cutColumns, measureColumns } from "../fit-text.ts";
import type { OutputStyle } from "../terminal.ts";

const INDENT = "    ";
/** Width when the output is not a terminal. */
const WIDEST = 100;
const MAX_COLLECTION = 16;
const MAX_TITLE = 40;

/** Formats collection, title and URI in columns; tab-separated if the output is not a terminal. */
export function formatDocument({ collection, title, uri }: DocumentInfo, { columns, style }: OutputStyle): string {
  if (columns === undefined) return [collection, title, uri].map((part) => cleanText(part)).join("\t");
  const narrow = Math.min(MAX_COLLECTION, Math.floor(columns / 5));
  const first = pad(cutColumns(collection, narrow), narrow);
  const room = columns - measureColumns(first) - 4;
  const wide = Math.min(MAX_TITLE, Math.floor(room / 2));
  const name = pad(cutColumns(title, wide), wide);
  return `${style("dim", first)}  ${name}  ${style("cyan", cutStart(uri, room - wide))}`;
}

/** Formats number and title, position, and the matching text. */
export function formatHit(hit: SearchHit, number: number, { columns = WIDEST, style }: OutputStyle): string {
  const { title, uri, snippet, firstLine, lastLine, score, collection } = hit;
  const sign = `[${number}]`;
  const end = `${collection}, ${score.toFixed(2)}`;
  const name = cutColumns(title, Math.max(8, columns - sign.length - measureColumns(end) - 4));
  const lines = firstLine === lastLine ? `:${firstLine}` : `:${firstLine}-${lastLine}`;
  const place = `${cutStart(uri, columns - INDENT.length - lines.length)}${lines}`;
  const words = wrapColumns(cleanText(snippet.replaceAll(/\s+/g, " ")), columns - INDENT.length);
  return [
    `${style("bold", `${sign} ${name}`)}  ${style("dim", cutColumns(end, columns))}`,
    `${INDENT}${style("cyan", place)}`,
    ...words.map((line) => `${INDENT}${line}`),
  ].join("\n");
}

function pad(text: string, width: number): string {
  return `${text}${" ".repeat(Math.max(0, width - measureColumns(text)))}`;
}

/** Cuts the start of a path, since its end says more. */
function cutStart(text: string, width: number): string {
  const clean = cleanText(text);
  if (measureColumns(clean) <= width) return clean;
  const characters = Array.from(clean);
  let used = 1;
  let at = characters.length;
  while (at > 0 && used + measureColumns(characters[at - 1] ?? "") <= width)
    used += measureColumns(characters[--at] ?? "");
  return `…${characters.slice(at).join("")}`;
}

const CLOSING = /^[，。！？；：、）」』”》]$/u;

/** Wraps at spaces, and between characters of scripts without spaces. */
function wrapColumns(text: string, width: number): readonly string[] {
  const pieces =
    text.match(
      /\s+|[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\uFF00-\uFF60\u3000-\u303F]|[^\s\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\uFF00-\uFF60\u3000-\u303F]+/gu,
    ) ?? [];
  const lines: string[] = [];
  let line = "";
  let used = 0;
  for (const piece of pieces.flatMap((one) => splitLong(one, width))) {
    const columns = measureColumns(piece);
    if (used + columns > width) {
      // A line must not start with closing punctuation, so the character before it moves along.
      const last = CLOSING.test(piece) ? (Array.from(line).at(-1) ?? "") : "";
      lines.push(line.slice(0, line.length - last.length).trimEnd());
      [line, used] = [last, measureColumns(last)];
    }
    if (used === 0 && piece.trim() === "") continue;
    line += piece;
    used += columns;
  }
  return line.trim() === "" ? lines : [...lines, line.trimEnd()];
}

/** Splits a word that is longer than a line, for example a URL. */
function splitLong(piece: string, width: number): readonly string[] {
  if (measureColumns(piece) <= width) return [piece];
  const parts: string[] = [];
  let part = "";
  let used = 0;
  for (const character of piece) {
    const columns = measureColumns(character);
    if (used + columns > width) {
      parts.push(part);
      [part, used] = ["", 0];
    }
    part += character;
    used += columns;
  }
  return [...parts, part];
}
