/**
 * A table as CSV (RFC 4180): commas, quotes where needed, CRLF. Rows are given by their numbers, in the order wanted. It
 * is written in steps, so that a large table does not hold the page.
 *
 * A text that a spreadsheet would take for a formula gets an apostrophe before it: who wrote the answer may not be who
 * opens the file, and a cell must stay a cell. Numbers stay as they are.
 */
import type { Json } from "../../protocol/index.ts";
import { readNumber, type Table, writeCell } from "./read-table.ts";
import type { Steps } from "./run-in-slices.ts";

const STEP_ROWS = 256;

export function* writeCsv(table: Table, rows: Uint32Array): Steps<string> {
  const texts = [table.columns.map(({ title }) => quote(guardFormula(title))).join(",")];
  for (let from = 0; from < rows.length; from += STEP_ROWS) {
    const lines = Array.from(rows.subarray(from, from + STEP_ROWS), (row) =>
      table.columns.map((_, column) => writeField(table.getCell(row, column))).join(","),
    );
    // Joined here and not by adding: all that was added is copied when it is first read, at one stretch.
    texts.push(lines.join("\r\n"));
    yield;
  }
  return `${texts.join("\r\n")}\r\n`;
}

function writeField(cell: Json): string {
  const text = writeCell(cell);
  return quote(typeof cell === "string" ? guardFormula(text) : text);
}

export function guardFormula(text: string): string {
  return /^[=+\-@\t\r]/.test(text) && readNumber(text) === undefined ? `'${text}` : text;
}

function quote(text: string): string {
  return /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
