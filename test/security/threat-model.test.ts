// The threat model of docs/security.md against the list and the tests: a threat without a row, or a row without a test, fails.
// And the table that a run prints: what was not tried is not said to have held.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { countThreats, formatThreats } from "../../scripts/threat-table.ts";
import { type Threat, THREATS } from "./threats.ts";

const ROOT = join(import.meta.dirname, "../..");
const rows = readFileSync(join(ROOT, "docs/security.md"), "utf8")
  .split("\n")
  .filter((line) => line.startsWith("| ") && line.includes(".test.ts"))
  .map((line) => line.split("|").map((cell) => cell.trim()));

/** The files of a row; those without a folder lie where the one before them does. */
function listFiles(cell: string): readonly string[] {
  let folder = "";
  return [...cell.matchAll(/`([\w./-]+\.test\.ts)`/g)].map(([, file = ""]) => {
    const at = file.lastIndexOf("/");
    if (at === -1) return folder + file;
    folder = file.slice(0, at + 1);
    return file;
  });
}

describe("the threat model", () => {
  it.for(Object.entries(THREATS))("has a row for %s, and its tests try it", ([threat, title]) => {
    const row = rows.find(([, name]) => name === title);
    const files = listFiles(row?.[3] ?? "");
    expect(files, `docs/security.md has no row "${title}" with tests`).not.toEqual([]);
    for (const file of files) {
      expect(existsSync(join(ROOT, file)), file).toBe(true);
      expect(readFileSync(join(ROOT, file), "utf8"), `${file} does not try it`).toContain(`"${threat}"`);
    }
  });

  it("has no row of a threat that is not in the list", () => {
    expect(new Set(rows.map(([, name]) => name))).toEqual(new Set<string | undefined>(Object.values(THREATS)));
  });
});

describe("the table of threats", () => {
  const tell = (
    threat: Threat | undefined,
    state: "passed" | "failed" | "skipped",
    tried?: number,
    through?: number,
  ) => ({
    meta: () => ({
      ...(threat === undefined ? {} : { threat }),
      ...(tried === undefined ? {} : { tried }),
      ...(through === undefined ? {} : { through }),
    }),
    result: () => ({ state }),
  });
  const TESTS = [
    tell("csrf", "passed", 120),
    tell("csrf", "skipped"),
    tell("clickjacking", "skipped"),
    tell("clickjacking", "skipped", 40),
    tell("ssrf", "passed"),
    tell("json-abuse", "failed", 9, 2),
    tell("flooding", "failed", 5),
    tell(undefined, "passed"),
  ];

  it("says of a threat whose tests were all skipped that it was not tried, and counts it", () => {
    const lines = formatThreats(countThreats(TESTS)).split("\n");
    expect(lines.map((line) => line.replaceAll(/ {2,}/g, " | "))).toEqual([
      "threat | cases tried | cases through",
      expect.stringMatching(/^-+$/),
      "cross-site request forgery | 120 | 0",
      "clickjacking | not tried | –",
      "JSON abuse | 9 | 2",
      "server-side request forgery | 1 | 0",
      "overspending and flooding | 5 | 1",
      expect.stringMatching(/^-+$/),
      "all, but 1 threat not tried | 135 | 3",
    ]);
    expect(new Set(lines.map(({ length }) => length)).size).toBe(1);
  });

  it("says nothing of that where all were tried, nor of tests that nobody asked for", () => {
    expect(formatThreats(countThreats(TESTS.slice(0, 2)))).toMatch(/\nall +120 +0$/);
    expect([...countThreats(TESTS, { withSkipped: false }).keys()]).toEqual(["csrf", "ssrf", "json-abuse", "flooding"]);
    expect(formatThreats(countThreats([...TESTS, tell("stored-xss", "skipped")]))).toContain("but 2 threats not tried");
  });
});
