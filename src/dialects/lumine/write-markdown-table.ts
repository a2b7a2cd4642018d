/**
 * Writes the data of a table or chart as a Markdown table. 004 has no frame for such data, and its front ends show the
 * text of chunks as Markdown.
 */
import type { DataEvent } from "../../protocol/events.generated.ts";
import { isJsonObject, type Json, type JsonObject } from "../../protocol/json.ts";
import { formatCell, readTable } from "../../protocol/read-table.ts";

/**
 * Returns the name in bold, the table and the description, each followed by a blank line. A chart is its table: the rows
 * it is drawn from. Returns undefined for data that is not a table or chart, or has no columns and rows.
 */
export function writeMarkdownTable({ data_type, data, metadata }: DataEvent): string | undefined {
  if (data_type !== "dataframe" && data_type !== "chart") return undefined;
  const table = readTable(data) ?? readChartValues(data);
  if (table === undefined) return undefined;
  const { columns, rowCount, name } = table;
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  const lines = [
    line(columns.map(({ title }) => escapeText(title))),
    line(columns.map(({ kind }) => (kind === "number" ? "---:" : "---"))),
  ];
  for (let row = 0; row < rowCount; row++)
    lines.push(line(columns.map((_column, column) => escapeText(formatCell(table.getCell(row, column))))));
  const description = metadata?.["description"];
  const blocks = [
    ...(name === undefined ? [] : [`**${escapeText(name)}**`]),
    lines.join("\n"),
    ...(typeof description === "string" && description.trim() !== "" ? [escapeText(description)] : []),
  ];
  return blocks.map((block) => `${block}\n\n`).join("");
}

/** The inline values of a Vega-Lite chart. */
function readChartValues({ data, name, title }: JsonObject & { readonly [field: string]: Json | undefined }) {
  const values = isJsonObject(data) ? data["values"] : undefined;
  const named = [name, title].find((text) => typeof text === "string");
  return Array.isArray(values)
    ? readTable({ rows: values, ...(named === undefined ? {} : { name: named }) })
    : undefined;
}

/** Makes a text one line that Markdown shows unchanged, also inside a table cell. */
function escapeText(text: string): string {
  return text
    .replaceAll(/[\\`*_~|<>[\]]/g, String.raw`\$&`)
    .replaceAll(/\s+/g, " ")
    .trim();
}
