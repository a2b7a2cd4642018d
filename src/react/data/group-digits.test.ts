import { describe, expect, it } from "vitest";
import type { Json } from "../../protocol/index.ts";
import { readTable } from "../../protocol/read-table.ts";
import { findGroupedColumns, formatTableCell } from "./group-digits.ts";

const isGrouped = (title: string, values: readonly Json[]): boolean | undefined =>
  findGroupedColumns(readTable({ columns: [title], rows: values.map((value) => [value]) })!)[0];

describe("digits in a table", () => {
  it.each<[string, Json[]]>([
    ["population", [8_500_000, 1200, 30]],
    ["人口", [21_886_000, 14_900]],
    ["price", ["1234.50", "9.99"]],
    ["revenue", [1_250_000]],
    ["Idaho", [2000, 1_900_000]],
    ["people", [37_194_105, 33_807_403, 29_867_918]],
  ])("are grouped in a column of amounts: %s", (title, values) => {
    expect(isGrouped(title, values)).toBe(true);
  });

  it.each<[string, Json[]]>([
    ["founded", [1998, 2004, 2015]],
    ["year", [1998, 2004, 12_000]],
    ["年份", [1998, 300]],
    ["order_id", [52_311, 9]],
    ["userId", [52_311, 9]],
    ["订单编号", [10_234, 88_221]],
    ["account", [10_203_040, 99_887_766]],
    ["day", [20_261_118, 20_261_231]],
    ["sent", [1_794_958_702, 1_794_958_799]],
    ["row", [999, 1000, 1001]],
    ["share", [0.5, 12]],
    ["name", ["a", 1000]],
  ])("are not grouped in a column of names, or of small numbers: %s", (title, values) => {
    expect(isGrouped(title, values)).toBe(false);
  });

  it("are grouped before the decimal point only", () => {
    const format = (cell: Json): string => formatTableCell(cell, true);
    expect([1_234_567, -1234.5678, "1234.50", 999, 1e21, null, "n/a"].map(format)).toEqual([
      "1,234,567",
      "-1,234.5678",
      "1,234.50",
      "999",
      "1e+21",
      "",
      "n/a",
    ]);
    expect(formatTableCell(1234, false)).toBe("1234");
  });
});
