// Compares the threat table of docs/threats.md with `threats.ts` and the tests, and tests the table that a run prints.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { countThreats, formatThreats } from "../../scripts/threat-table.ts";
import { type Threat, THREATS } from "./threats.ts";

const ROOT = join(import.meta.dirname, "../..");
const rows = readFileSync(join(ROOT, "docs/threats.md"), "utf8")
  .split("\n")
  .filter((line) => line.startsWith("| ") && line.includes(".test.ts"))
  .map((line) => line.split("|").map((cell) => cell.trim()));

/** Files named in a cell. A name without a folder is in the folder of the name before it. */
function listFiles(cell: string): readonly string[] {
  let folder = "";
  return [...cell.matchAll(/`([\w./-]+\.test\.ts)`/g)].map(([, file = ""]) => {
    const at = file.lastIndexOf("/");
    if (at === -1) return folder + file;
    folder = file.slice(0, at + 1);
    return file;
  });
}

describe("docs/threats.md", () => {
  it.for(Object.entries(THREATS))("has a row for %s with tests of this threat", ([threat, title]) => {
    const row = rows.find(([, name]) => name === title);
    const files = listFiles(row?.[3] ?? "");
    expect(files, `docs/threats.md has no row "${title}" with tests`).not.toEqual([]);
    for (const file of files) {
      expect(existsSync(join(ROOT, file)), file).toBe(true);
      expect(readFileSync(join(ROOT, file), "utf8"), `${file} does not test it`).toContain(`"${threat}"`);
    }
  });

  it("has no row for an unknown threat", () => {
    expect(new Set(rows.map(([, name]) => name))).toEqual(new Set<string | undefined>(Object.values(THREATS)));
  });
});

describe("the printed threat table", () => {
  const createTest = (
    threat: Threat | undefined,
    state: "passed" | "failed" | "skipped",
    tried?: number,
    succeeded?: number,
    omitted?: number,
  ) => ({
    meta: () => ({
      ...(threat === undefined ? {} : { threat }),
      ...(tried === undefined ? {} : { tried }),
      ...(succeeded === undefined ? {} : { succeeded }),
      ...(omitted === undefined ? {} : { omitted }),
    }),
    result: () => ({ state }),
  });
  const TESTS = [
    createTest("csrf", "passed", 120),
    createTest("csrf", "skipped"),
    createTest("clickjacking", "skipped"),
    createTest("clickjacking", "skipped", 40),
    createTest("ssrf", "passed"),
    createTest("json-abuse", "failed", 9, 2),
    createTest("flooding", "failed", 5),
    createTest(undefined, "passed"),
  ];

  it("reports a threat whose tests were all skipped as not tested", () => {
    const lines = formatThreats(countThreats(TESTS)).split("\n");
    expect(lines.map((line) => line.replaceAll(/ {2,}/g, " | "))).toEqual([
      "threat | attacks tried | succeeded",
      expect.stringMatching(/^-+$/),
      "cross-site request forgery | 120 | 0",
      "clickjacking | not tested | –",
      "JSON abuse | 9 | 2",
      "server-side request forgery | 1 | 0",
      "flooding and overspending | 5 | 1",
      expect.stringMatching(/^-+$/),
      "total, 1 threat not tested | 135 | 3",
    ]);
    expect(new Set(lines.map(({ length }) => length)).size).toBe(1);
  });

  it("shows how many attacks the long run tries", () => {
    const tests = [createTest("csrf", "passed", 30, 0, 90), createTest("ssrf", "passed", 4)];
    expect(formatThreats(countThreats(tests))).toMatch(
      /forgery +30 of 120 +0\n[^]*forgery +4 +0\n[^]*\ntotal +34 of 124 +0$/,
    );
  });

  it("omits skipped threats in a run that selects tests by name", () => {
    expect(formatThreats(countThreats(TESTS.slice(0, 2)))).toMatch(/\ntotal +120 +0$/);
    expect([...countThreats(TESTS, { withSkipped: false }).keys()]).toEqual(["csrf", "ssrf", "json-abuse", "flooding"]);
    expect(formatThreats(countThreats([...TESTS, createTest("stored-xss", "skipped")]))).toContain(
      "2 threats not tested",
    );
  });
});
