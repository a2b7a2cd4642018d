import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { listRows } from "./arrange-rows.ts";
import { readTable } from "../../protocol/read-table.ts";
import type { SlicedTask } from "./run-in-slices.ts";
import { cleanFileName } from "./save-text.ts";
import { guardFormula, writeCsv } from "./write-csv.ts";

function write(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  const table = readTable({ columns, rows });
  return table === undefined ? "" : finish(writeCsv(table, listRows(rows.length)));
}

function finish<T>(steps: SlicedTask<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** A minimal RFC 4180 parser. */
function parse(text: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  let at = 0;
  while (at < text.length) {
    let field = "";
    if (text[at] === '"') {
      for (at++; text[at] !== '"' || text[at + 1] === '"'; at++) {
        if (text[at] === '"') at++;
        field += text[at];
      }
      at++;
    } else while (at < text.length && text[at] !== "," && text[at] !== "\r") field += text[at++];
    row.push(field);
    if (text[at] === ",") at++;
    else {
      at += 2;
      rows.push(row);
      row = [];
    }
  }
  return rows;
}

describe("writeCsv", () => {
  it("round-trips every cell", () => {
    const cell = fc.oneof(
      fc.string(),
      fc.constantFrom('"', ",", "\r\n", "\n", "a\rb", "=1+1", "-5", "@a", " x ", "中，文"),
    );
    fc.assert(
      fc.property(
        fc
          .integer({ min: 1, max: 4 })
          .chain((width) => fc.array(fc.array(cell, { minLength: width, maxLength: width }), { minLength: 1 })),
        (rows) => {
          const [columns = [], ...rest] = rows;
          expect(parse(write(columns, rest))).toEqual(rows.map((row) => row.map(guardFormula)));
        },
      ),
    );
  });

  it("quotes where needed and uses CRLF", () => {
    expect(write(["a", "b"], [['say "x"', "1,5"]])).toBe('a,b\r\n"say ""x""","1,5"\r\n');
  });

  it("escapes formulas but not numbers", () => {
    expect(["=cmd()", "+a", "-a", "@a", "\ta", "-5", "+1.5", "a=1", ""].map(guardFormula)).toEqual([
      "'=cmd()",
      "'+a",
      "'-a",
      "'@a",
      "'\ta",
      "-5",
      "+1.5",
      "a=1",
      "",
    ]);
    const table = readTable({ columns: ["n"], rows: [[-5], [null], [true]] });
    expect(table === undefined ? "" : finish(writeCsv(table, listRows(3)))).toBe("n\r\n-5\r\n\r\ntrue\r\n");
  });
});

describe("writeCsv for many rows", () => {
  it("writes in small steps, each row once and in order", () => {
    let cells = 0;
    const getCell = (row: number): number => {
      cells++;
      return row;
    };
    const column = { title: "n", kind: "number" } as const;
    const table = { columns: [column], rowCount: 10_000, omittedColumns: 0, getCell };
    const rows = listRows(10_000).toReversed();
    const steps = writeCsv(table, rows);
    for (;;) {
      const before = cells;
      const step = steps.next();
      expect(cells - before).toBeLessThan(1000);
      if (step.done !== true) continue;
      expect(step.value).toBe(`n\r\n${[...rows].join("\r\n")}\r\n`);
      return;
    }
  });
});

describe("cleanFileName", () => {
  it("removes characters that are special in file names", () => {
    expect(
      ["Orders.csv", "../../etc/passwd.csv", "a\u0000b:c?.csv", ".csv", "销售 2024.csv"].map(cleanFileName),
    ).toEqual(["Orders.csv", "etc passwd.csv", "a b c.csv", "data.csv", "销售 2024.csv"]);
  });
});
