/**
 * Writes a table as CSV (RFC 4180): commas, CRLF, quotes where needed. Runs in steps, so that a large table does not
 * block the page.
 *
 * Text that a spreadsheet would treat as a formula is prefixed with an apostrophe, because the content is not trusted.
 * Numbers stay unchanged.
 */
import type { Json } from "../../protocol/index.ts";
import { readNumber, type TableData, cellToText } from "../../protocol/read-table.ts";
import type { SlicedTask } from "./run-in-slices.ts";

const STEP_ROWS = 256;

export function* writeCsv(table: TableData, rows: Uint32Array): SlicedTask<string> {
  const texts = [table.columns.map(({ title }) => quote(guardFormula(title))).join(",")];
  for (let from = 0; from < rows.length; from += STEP_ROWS) {
    const lines = Array.from(rows.subarray(from, from + STEP_ROWS), (row) =>
      table.columns.map((_, column) => writeField(table.getCell(row, column))).join(","),
    );
    // Collected in an array: string concatenation would be flattened in one long step at the end.
    texts.push(lines.join("\r\n"));
    yield;
  }
  return `${texts.join("\r\n")}\r\n`;
}

function writeField(cell: Json): string {
  const text = cellToText(cell);
  return quote(typeof cell === "string" ? guardFormula(text) : text);
}

export function guardFormula(text: string): string {
  return /^[=+\-@\t\r]/.test(text) && readNumber(text) === undefined ? `'${text}` : text;
}

function quote(text: string): string {
  return /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
