import { describe, expect, it } from "vitest";
import type { JsonObject } from "./json.ts";
import { readNumber, readTable, formatCell, cellToText } from "./read-table.ts";

/** Reads all cells of a table. */
function readAll(data: JsonObject): unknown {
  const table = readTable(data);
  if (table === undefined) return undefined;
  const rows = Array.from({ length: table.rowCount }, (_, row) =>
    table.columns.map((_column, column) => table.getCell(row, column)),
  );
  return { titles: table.columns.map(({ title }) => title), kinds: table.columns.map(({ kind }) => kind), rows };
}

describe("readTable", () => {
  it("reads names and arrays", () => {
    expect(readTable({ name: "Moons", columns: ["a"], rows: [] })?.name).toBe("Moons");
    expect(readAll({ columns: ["planet", "moons"], rows: [["Earth", 1]] })).toEqual({
      titles: ["planet", "moons"],
      kinds: ["text", "number"],
      rows: [["Earth", 1]],
    });
  });

  it("reads objects with and without columns", () => {
    const rows = [
      { a: 1, b: "x" },
      { b: "y", c: true },
    ];
    expect(readAll({ rows })).toEqual({
      titles: ["a", "b", "c"],
      kinds: ["number", "text", "boolean"],
      rows: [
        [1, "x", null],
        [null, "y", true],
      ],
    });
    const columns = [
      { name: "b", title: "Bee" },
      { field: "a", label: "Ay", type: "text" },
    ];
    expect(readAll({ columns, rows })).toEqual({
      titles: ["Bee", "Ay"],
      kinds: ["text", "text"],
      rows: [
        ["x", 1],
        ["y", null],
      ],
    });
  });

  it("fills every column of every row", () => {
    expect(readAll({ columns: ["a"], rows: [[], [1, 2, 3], 4, null, { a: 5 }] })).toEqual({
      titles: ["a", "", ""],
      kinds: ["number", "number", "number"],
      rows: [
        [null, null, null],
        [1, 2, 3],
        [4, null, null],
        [null, null, null],
        [5, null, null],
      ],
    });
  });

  it("ignores inherited properties", () => {
    expect(readAll({ columns: ["constructor", "__proto__"], rows: [{ a: 1 }] })).toMatchObject({
      rows: [[null, null]],
    });
  });

  it("returns undefined without columns or rows", () => {
    expect(readTable({})).toBeUndefined();
    expect(readTable({ rows: [] })).toBeUndefined();
    expect(readTable({ columns: "a", rows: "b" })).toBeUndefined();
  });

  it("limits the columns and counts the omitted ones", () => {
    const table = readTable({ rows: [Array.from({ length: 250 }, (_, index) => index)] });
    expect(table?.columns.length).toBe(200);
    expect(table?.omittedColumns).toBe(50);
  });
});

describe("cells", () => {
  it("reads numbers from text, but not from codes", () => {
    expect(["1", "-2.5", "1e3", "007", "", "1,000", "0x10", "Infinity"].map(readNumber)).toEqual([
      1,
      -2.5,
      1000,
      undefined,
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });

  it("are exact as text and rounded for display", () => {
    expect([null, true, 1 / 3, { a: 1 }, "x"].map(cellToText)).toEqual([
      "",
      "true",
      "0.3333333333333333",
      '{"a":1}',
      "x",
    ]);
    expect([1 / 3, 12_345_678_901_234, 0.5].map(formatCell)).toEqual(["0.3333333333", "12345678901234", "0.5"]);
  });
});
