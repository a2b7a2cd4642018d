/** Writes tabular data as a Markdown table, for the export of a conversation. */
import type { JsonObject } from "../../protocol/index.ts";
import { cellToText, readTable } from "../../protocol/read-table.ts";

const MAX_ROWS = 1000;

/** Returns a Markdown table with at most 1,000 rows, or undefined if the data is not a table. */
export function writeMarkdownTable(data: JsonObject): string | undefined {
  const table = readTable(data);
  if (table === undefined) return undefined;
  const { name, columns, rowCount } = table;
  const shown = Math.min(rowCount, MAX_ROWS);
  const lines = [
    writeRow(columns.map(({ title }) => title)),
    writeRow(
      columns.map(({ kind }) => (kind === "number" ? "--:" : "---")),
      false,
    ),
    ...Array.from({ length: shown }, (_, row) =>
      writeRow(columns.map((__, column) => cellToText(table.getCell(row, column)))),
    ),
  ];
  const caption = name === undefined ? [] : [`**${escapeCell(name)}**`, ""];
  return [...caption, ...lines, ...(shown < rowCount ? ["", `… ${rowCount - shown}`] : [])].join("\n");
}

function writeRow(cells: readonly string[], isText = true): string {
  return `| ${cells.map((cell) => (isText ? escapeCell(cell) : cell)).join(" | ")} |`;
}

/** Cells are text of the sender: their characters must not become Markdown. */
function escapeCell(text: string): string {
  return text.replaceAll(/[\\`*_[\]<#|]/gu, String.raw`\$&`).replaceAll(/\s*\n\s*/gu, " ");
}
