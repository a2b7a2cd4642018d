import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Json } from "../../protocol/index.ts";
import { createRowArranger, type RowTask, type RowQuery } from "./arrange-rows.ts";
import { readNumber, readTable, type TableData, cellToText } from "../../protocol/read-table.ts";

function makeTable(rows: readonly (readonly Json[])[], width = 2): TableData {
  const table = readTable({ columns: Array.from({ length: width }, (_, column) => `c${column}`), rows });
  if (table === undefined) throw new Error("no table");
  return table;
}

function finish(steps: RowTask): number[] {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return [...step.value];
  }
}

const arrange = (table: TableData, query: Partial<RowQuery>): number[] =>
  finish(createRowArranger(table, "en")({ filter: "", sorting: undefined, ...query }));

const cells = fc.oneof(
  fc.constant(null),
  fc.integer({ min: -20, max: 20 }),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.boolean(),
  fc.constantFrom("", "a", "B", "b", "10", "9", "é", "中", "ﬁ", "Ａ", "=1"),
  fc.string({ maxLength: 4 }),
);
const tables = fc
  .array(fc.tuple(cells, cells), { maxLength: 60 })
  // Some longer than one run of the sort.
  .chain((rows) => fc.constantFrom(1, 1, 40).map((times) => Array.from({ length: times }, () => rows).flat()))
  .map((rows) => makeTable(rows));
const isEmpty = (cell: Json): boolean => cell === null || cell === "";

describe("sorting", () => {
  it("matches a plain stable sort with empty cells last", () => {
    const collator = new Intl.Collator("en", { numeric: true });
    fc.assert(
      fc.property(tables, fc.constantFrom("ascending" as const, "descending" as const), (table, direction) => {
        const isNumeric = table.columns[0]?.kind === "number";
        const read = (row: number): Json => {
          const cell = table.getCell(row, 0);
          return (isNumeric ? readNumber(cell) : undefined) ?? cell;
        };
        const compare = (one: number, other: number): number => {
          const [a, b] = [read(one), read(other)];
          if (isEmpty(a) || isEmpty(b)) return Number(isEmpty(a)) - Number(isEmpty(b));
          const [x, y] = [typeof a === "number", typeof b === "number"];
          const order =
            x && y
              ? Math.sign(Number(a) - Number(b))
              : x !== y
                ? x
                  ? -1
                  : 1
                : collator.compare(cellToText(a), cellToText(b));
          return direction === "ascending" ? order : -order;
        };
        const rows = Array.from({ length: table.rowCount }, (_, row) => row);
        expect(arrange(table, { sorting: { column: 0, direction } })).toEqual(rows.toSorted(compare));
      }),
    );
  });

  it("sorts numbers by value and names by locale", () => {
    const table = makeTable([[10], [9], [null], [-1]], 1);
    expect(arrange(table, { sorting: { column: 0, direction: "ascending" } })).toEqual([3, 1, 0, 2]);
    expect(arrange(table, { sorting: { column: 0, direction: "descending" } })).toEqual([0, 1, 3, 2]);
    const names = makeTable([["item 10"], ["Zoë"], ["item 9"], ["äpfel"]], 1);
    expect(arrange(names, { sorting: { column: 0, direction: "ascending" } })).toEqual([3, 2, 0, 1]);
  });
});

describe("filtering", () => {
  it("finds the same rows as a search of every cell", () => {
    const fold = (text: string): string => text.normalize("NFKC").toLowerCase();
    const queries = fc.oneof(fc.constantFrom("a", "A", "fi", "1", "tru", "中", "-"), fc.string({ maxLength: 2 }));
    fc.assert(
      fc.property(tables, queries, (table, filter) => {
        const sought = fold(filter.trim());
        const found = Array.from({ length: table.rowCount }, (_, row) => row).filter((row) =>
          [0, 1].some((column) => fold(cellToText(table.getCell(row, column))).includes(sought)),
        );
        expect(arrange(table, { filter })).toEqual(found);
      }),
    );
  });

  it("keeps the sort order", () => {
    const table = makeTable([
      ["b", 1],
      ["a", 2],
      ["bb", 3],
      ["ab", 0],
    ]);
    const sorting = { column: 1, direction: "descending" } as const;
    expect(arrange(table, { filter: "B", sorting })).toEqual([2, 0, 3]);
  });
});

describe("createRowArranger", () => {
  it("splits the work into small steps", () => {
    const rows = Array.from({ length: 5000 }, (_, row): Json[] => [`row ${(row * 7919) % 5000}`, row]);
    const steps = createRowArranger(
      makeTable(rows),
      "en",
    )({ filter: "row", sorting: { column: 0, direction: "ascending" } });
    let count = 0;
    let step = steps.next();
    for (; step.done !== true; step = steps.next()) count++;
    const order = [...step.value].map((row) => Number(cellToText(rows[row]?.[0] ?? "").slice(4)));
    expect(order).toEqual(Array.from({ length: 5000 }, (_, row) => row));
    expect(count).toBeGreaterThan(80);
  });

  it("caches the last orders", () => {
    let reads = 0;
    const table = makeTable(Array.from({ length: 2000 }, (_, row): Json[] => [row % 7, row]));
    const counted: TableData = {
      ...table,
      getCell: (row, column) => {
        reads++;
        return table.getCell(row, column);
      },
    };
    const arranger = createRowArranger(counted, "en");
    const sorting = { column: 0, direction: "descending" } as const;
    const first = finish(arranger({ filter: "", sorting }));
    const after = reads;
    expect(finish(arranger({ filter: "", sorting }))).toEqual(first);
    expect(reads).toBe(after);
  });
});
