// The page of error codes: every code has one row there, with its class, and no row is about a code that is none.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ERROR_CODES } from "../src/protocol/index.ts";
import { packageRoot } from "./source-files.ts";

/** Codes and classes of the rows, in the order of the page. */
function readRows(markdown: string): [code: string, type: string][] {
  return [...markdown.matchAll(/^\| `(\w+)` +\| (\w+) +\| (\S.*) \|$/gm)].map(([, code = "", type = ""]) => [
    code,
    type,
  ]);
}

describe("docs/errors.md", () => {
  const rows = readRows(readFileSync(join(packageRoot, "docs", "errors.md"), "utf8"));

  it("has a row for every code, with its class, and no other", () => {
    expect(Object.fromEntries(rows)).toEqual(ERROR_CODES);
  });

  it("has one row for each", () => {
    expect(rows.map(([code]) => code).toSorted()).toEqual(Object.keys(ERROR_CODES).toSorted());
  });

  it("is read row by row, and a row that says nothing is none", () => {
    const markdown =
      "| code | class | when |\n| --- | --- | --- |\n| `a_b` | system | always |\n| `c` | timeout |  |\n";
    expect(readRows(markdown)).toEqual([["a_b", "system"]]);
  });
});
