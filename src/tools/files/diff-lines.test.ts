import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { diffLines } from "./diff-lines.ts";

/** Applies a diff that is not truncated. */
function patch(before: string, diff: string): string {
  const old = before === "" ? [] : before.split("\n");
  const now: string[] = [];
  let at = 0;
  for (const line of diff === "" ? [] : diff.split("\n")) {
    const range = /^@@ -(\d+),(\d+) /.exec(line);
    if (range !== null) {
      const start = Number(range[1]) - (range[2] === "0" ? 0 : 1);
      now.push(...old.slice(at, start));
      at = start;
    } else {
      if (!line.startsWith("+")) expect(old[at++]).toBe(line.slice(1));
      if (!line.startsWith("-")) now.push(line.slice(1));
    }
  }
  return [...now, ...old.slice(at)].join("\n");
}

describe("a diff", () => {
  it("has the changed lines with some context", () => {
    const old = Array.from({ length: 20 }, (_, index) => `line ${index + 1}`);
    const now = old.with(9, "changed").toSpliced(15, 0, "added");
    expect(diffLines(`${old.join("\n")}\n`, `${now.join("\n")}\n`)).toBe(
      [
        "@@ -7,12 +7,13 @@\n line 7\n line 8\n line 9\n-line 10\n+changed\n line 11\n line 12",
        " line 13\n line 14\n line 15\n+added\n line 16\n line 17\n line 18",
      ].join("\n"),
    );
    expect(diffLines("a\nb\n", "a\nb\n")).toBe("");
    expect(diffLines("", "a\n")).toBe("@@ -0,0 +1,1 @@\n+a");
    expect(diffLines("a\n", "")).toBe("@@ -1,1 +0,0 @@\n-a");
  });

  it("turns any text into any other", () => {
    const text = fc.array(fc.constantFrom("a", "b", "c", "d", "e", "{", "}"), { maxLength: 30 }).map((lines) =>
      // A final empty line is not a line.
      lines.join("\n"),
    );
    fc.assert(
      fc.property(text, text, (before, after) => {
        expect(patch(before, diffLines(before, after))).toBe(after);
      }),
    );
  });

  it("is limited, and takes little time for large texts without a common line", () => {
    const old = Array.from({ length: 50_000 }, (_, index) => `old ${index}`).join("\n");
    const diff = diffLines(old, old.replaceAll("old", "new"));
    expect(diff.length).toBeLessThanOrEqual(20_000);
    expect(diff.endsWith("\n…")).toBe(true);
    const long = diffLines("x", "y".repeat(9000));
    expect(long).toBe(`@@ -1,1 +1,1 @@\n-x\n+${"y".repeat(499)}…`);
  });
});
