/** Describes a chart for screen readers: its kind, number of points, and the range of each series. */
import type { JsonObject } from "../../protocol/index.ts";
import { isJsonObject } from "../../protocol/json.ts";
import { readNumber, readTable, type TableData } from "../../protocol/read-table.ts";
import { readChartNumbers, readLoomChart } from "./to-vega-lite.ts";

export interface ChartDescription {
  /** `bar`, `line` and so on; undefined if unknown or mixed. */
  readonly kind: string | undefined;
  readonly points: number;
  readonly series: readonly SeriesRange[];
}

export interface SeriesRange {
  readonly name: string;
  readonly min: number;
  readonly max: number;
}

/** Maximum series described. */
const MAX_SERIES = 8;

export function describeChart(data: JsonObject): ChartDescription {
  const own = readLoomChart(data);
  const numbers = readChartNumbers(data);
  const table = own?.table ?? (numbers === undefined ? undefined : readTable(numbers));
  const columns = (table?.columns ?? []).map((column, index) => ({ ...column, index }));
  const numeric = columns.filter(({ kind, index }) => kind === "number" && (own === undefined || index > 0));
  return {
    kind: own?.kind ?? readMark(data),
    points: table?.rowCount ?? 0,
    series: numeric.slice(0, MAX_SERIES).flatMap(({ title, index }) => {
      const range = table === undefined ? undefined : findRange(table, index);
      return range === undefined ? [] : [{ name: title, ...range }];
    }),
  };
}

function readMark({ mark }: JsonObject & { readonly mark?: JsonObject[string] }): string | undefined {
  const type = isJsonObject(mark) ? mark["type"] : mark;
  return typeof type === "string" ? type : undefined;
}

function findRange(table: TableData, column: number): Omit<SeriesRange, "name"> | undefined {
  let range: { min: number; max: number } | undefined;
  for (let row = 0; row < table.rowCount; row++) {
    const value = readNumber(table.getCell(row, column));
    if (value === undefined) continue;
    range =
      range === undefined
        ? { min: value, max: value }
        : { min: Math.min(range.min, value), max: Math.max(range.max, value) };
  }
  return range;
}
