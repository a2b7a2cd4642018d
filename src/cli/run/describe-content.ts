/** Formats tables, images and to-do lists of a run as short lines. The lines are neither cut nor cleaned. */
import type { AnyEvent, EventOf, Json } from "../../protocol/index.ts";

const SHOWN_ROWS = 12;

/** Returns no lines for other events. */
export function describeContent(event: AnyEvent, maxRows = SHOWN_ROWS): readonly string[] {
  switch (event.type) {
    case "data": {
      const { data_type, data } = event as EventOf<"data">;
      return describeData(data_type, data, maxRows);
    }
    case "image": {
      const { url, alt = "" } = event as EventOf<"image">;
      return [`image ${alt} ${url}`];
    }
    case "todo_list": {
      const { title = "to-do list", items } = event as EventOf<"todo_list">;
      return limitRows(maxRows, [title, ...items.map(({ text, completed }) => `[${completed ? "x" : " "}] ${text}`)]);
    }
    case "todo_update": {
      const { item_id, completed, text } = event as EventOf<"todo_update">;
      return [`${completed === undefined ? "" : `[${completed ? "x" : " "}] `}${text ?? item_id}`];
    }
    default:
      return [];
  }
}

function describeData(
  kind: string,
  { name, columns, rows }: { readonly [key: string]: Json },
  maxRows: number,
): readonly string[] {
  const shownKind = kind === "dataframe" ? "table" : kind;
  const title = typeof name === "string" ? `${shownKind} ${name}` : shownKind;
  if (!Array.isArray(columns) || !Array.isArray(rows)) return [title];
  const join = (row: Json): string => (Array.isArray(row) ? row : [row]).map(formatCell).join(" | ");
  return limitRows(maxRows, [title, join(columns), ...rows.map(join)]);
}

/** Formats a value of a table. */
export function formatCell(value: Json): string {
  if (value === null) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function limitRows(maxRows: number, lines: readonly string[]): readonly string[] {
  return lines.length <= maxRows ? lines : [...lines.slice(0, maxRows - 1), `… ${lines.length - maxRows + 1} more`];
}
