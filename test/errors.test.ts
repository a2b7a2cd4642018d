// The page of error codes has exactly one row per code.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ERROR_CODES } from "../src/protocol/index.ts";
import { packageRoot } from "./source-files.ts";

/** Codes of the rows, in page order. */
function readCodes(markdown: string): string[] {
  return [...markdown.matchAll(/^\| `(\w+)` +\| \S.* \|$/gm)].map(([, code = ""]) => code);
}

describe("docs/errors.md", () => {
  it("has one row per code, and no other", () => {
    const codes = readCodes(readFileSync(join(packageRoot, "docs", "errors.md"), "utf8"));
    expect(codes.toSorted()).toEqual(Object.keys(ERROR_CODES).toSorted());
  });

  it("a row without a description does not count", () => {
    expect(readCodes("| code | when |\n| --- | --- |\n| `a_b` | always |\n| `c` |  |\n")).toEqual(["a_b"]);
  });
});
