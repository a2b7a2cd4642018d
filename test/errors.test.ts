// The page of error codes has exactly one row per code, with its class.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ERROR_CODES } from "../src/protocol/index.ts";
import { packageRoot } from "./source-files.ts";

/** Codes and classes of the rows, in page order. */
function readRows(markdown: string): [code: string, type: string][] {
  return [...markdown.matchAll(/^\| `(\w+)` +\| (\w+) +\| (\S.*) \|$/gm)].map(([, code = "", type = ""]) => [
    code,
    type,
  ]);
}

describe("docs/errors.md", () => {
  const rows = readRows(readFileSync(join(packageRoot, "docs", "errors.md"), "utf8"));

  it("lists every code with its class, and no other", () => {
    expect(Object.fromEntries(rows)).toEqual(ERROR_CODES);
  });

  it("has one row per code", () => {
    expect(rows.map(([code]) => code).toSorted()).toEqual(Object.keys(ERROR_CODES).toSorted());
  });

  it("a row without a description does not count", () => {
    const markdown =
      "| code | class | when |\n| --- | --- | --- |\n| `a_b` | system | always |\n| `c` | timeout |  |\n";
    expect(readRows(markdown)).toEqual([["a_b", "system"]]);
  });
});
