/** What a chart shows, for those who do not see it: its kind, how many points it has, and how far each series reaches. */
import { isJsonObject, type JsonObject } from "../../protocol/index.ts";
import { readNumber, readTable, type Table } from "./read-table.ts";
import { readChartNumbers, readOwnChart } from "./to-vega-lite.ts";

export interface ChartDescription {
  /** `bar`, `line` …; undefined where it is several or nobody knows. */
  readonly kind: string | undefined;
  readonly points: number;
  readonly series: readonly SeriesRange[];
}

export interface SeriesRange {
  readonly name: string;
  readonly min: number;
  readonly max: number;
}

/** More than these are not told one by one. */
const MAX_SERIES = 8;

export function describeChart(data: JsonObject): ChartDescription {
  const own = readOwnChart(data);
  const numbers = readChartNumbers(data);
  const table = own?.table ?? (numbers === undefined ? undefined : readTable(numbers));
  const columns = (table?.columns ?? []).map((column, index) => ({ ...column, index }));
  const told = columns.filter(({ kind, index }) => kind === "number" && (own === undefined || index > 0));
  return {
    kind: own?.kind ?? readMark(data),
    points: table?.rowCount ?? 0,
    series: told.slice(0, MAX_SERIES).flatMap(({ title, index }) => {
      const range = table === undefined ? undefined : findRange(table, index);
      return range === undefined ? [] : [{ name: title, ...range }];
    }),
  };
}

function readMark({ mark }: JsonObject & { readonly mark?: JsonObject[string] }): string | undefined {
  const type = isJsonObject(mark) ? mark["type"] : mark;
  return typeof type === "string" ? type : undefined;
}

function findRange(table: Table, column: number): Omit<SeriesRange, "name"> | undefined {
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
