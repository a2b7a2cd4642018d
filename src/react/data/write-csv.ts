/**
 * A table as CSV (RFC 4180): commas, quotes where needed, CRLF. Rows are given by their numbers, in the order wanted.
 *
 * A text that a spreadsheet would take for a formula gets an apostrophe before it: who wrote the answer may not be who
 * opens the file, and a cell must stay a cell. Numbers stay as they are.
 */
import type { Json } from "../../protocol/index.ts";
import { readNumber, type Table, writeCell } from "./read-table.ts";

export function writeCsv(table: Table, rows: Iterable<number>): string {
  const lines = [table.columns.map(({ title }) => quote(guardFormula(title))).join(",")];
  for (const row of rows)
    lines.push(table.columns.map((_, column) => writeField(table.getCell(row, column))).join(","));
  return `${lines.join("\r\n")}\r\n`;
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
