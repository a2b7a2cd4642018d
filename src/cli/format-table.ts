/** Formats rows in columns that fit the terminal. Cells are cleaned; only the last column is cut. */
import { cleanText, cutColumns, measureColumns, padColumns } from "./fit-text.ts";
import type { OutputStyle } from "./terminal.ts";

const GAP = 2;
/** With less room, the last column goes below the others. */
const MIN_LAST_COLUMNS = 16;

/** `head` names the columns; it is shown on a terminal only, where rows are read by people. */
export function formatTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  { columns, style }: OutputStyle,
): string {
  if (rows.length === 0) return "";
  const cells = rows.map((row) => row.map(cleanText));
  const shown = columns === undefined ? cells : [head, ...cells];
  const widths = head.map((_, index) => Math.max(...shown.map((row) => measureColumns(row[index] ?? ""))));
  const left = widths.slice(0, -1).reduce((sum, width) => sum + width + GAP, 0);
  const room = (columns ?? Number.POSITIVE_INFINITY) - left;
  const isBelow = room < Math.min(MIN_LAST_COLUMNS, widths.at(-1) ?? 0);
  return shown
    .map((row, index) => {
      const first = row.slice(0, -1).map((cell, place) => padColumns(cell, widths[place] ?? 0));
      const last = row.at(-1) ?? "";
      const cut = isBelow ? cutTo(last, (columns ?? Infinity) - GAP) : cutTo(last, room);
      const line = isBelow ? `${first.join("  ").trimEnd()}\n  ${cut}` : [...first, cut].join("  ").trimEnd();
      const isHead = columns !== undefined && index === 0;
      return isHead
        ? line
            .split("\n")
            .map((part) => style("dim", part))
            .join("\n")
        : line;
    })
    .map((line) => `${line.trimEnd()}\n`)
    .join("");
}

/** Formats what is known about one thing: a line for each name and value, which is cleaned. */
export function formatFields(fields: readonly (readonly [name: string, value: string])[]): string {
  const width = Math.max(...fields.map(([name]) => name.length));
  return fields.map(([name, value]) => `${name.padEnd(width)}  ${cleanText(value)}\n`).join("");
}

function cutTo(text: string, width: number): string {
  return width === Number.POSITIVE_INFINITY ? text : cutColumns(text, width);
}

const UNITS: readonly (readonly [name: string, ms: number])[] = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
];

/** The time since `then`, such as `3 min`. */
export function formatAge(then: number, now = Date.now()): string {
  const ms = Math.max(0, now - then);
  const [name, size] = UNITS.find(([, unit]) => ms >= unit) ?? ["s", 1000];
  return `${Math.floor(ms / size)} ${name}`;
}
