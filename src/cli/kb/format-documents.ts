/** Formats documents and search hits for a terminal. Lines always fit its width. */
import type { DocumentInfo, SearchHit } from "../../context/index.ts";
import { cleanText, cutColumns, measureColumns, padColumns } from "../fit-text.ts";
import { wrapRows } from "../screen/text-rows.ts";
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
  const first = padColumns(cutColumns(collection, narrow), narrow);
  const room = columns - measureColumns(first) - 4;
  const wide = Math.min(MAX_TITLE, Math.floor(room / 2));
  const name = padColumns(cutColumns(title, wide), wide);
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
  const words = wrapRows([{ text: snippet.replaceAll(/\s+/g, " ") }], { width: columns - INDENT.length });
  return [
    `${style("bold", `${sign} ${name}`)}  ${style("dim", cutColumns(end, columns))}`,
    `${INDENT}${style("cyan", place)}`,
    ...words.map((row) => `${INDENT}${row.map(({ text }) => text).join("")}`),
  ].join("\n");
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
