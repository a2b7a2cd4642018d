import { expect, it } from "vitest";
import { writeMarkdownTable } from "./write-markdown-table.ts";

it("writes a table with escaped cells, and nothing for other data", () => {
  const data = {
    columns: ["planet", "moons"],
    rows: [
      ["Earth | *home*", 1],
      ["Mars\n<b>", 2],
    ],
  };
  expect(writeMarkdownTable(data)).toBe(
    ["| planet | moons |", "| --- | --: |", "| Earth \\| \\*home\\* | 1 |", "| Mars \\<b> | 2 |"].join("\n"),
  );
  expect(writeMarkdownTable({ a: 1 })).toBeUndefined();
  const long = writeMarkdownTable({ columns: ["n"], rows: Array.from({ length: 1200 }, (_, n) => [n]) });
  expect(long?.split("\n").slice(-3)).toEqual(["| 999 |", "", "… 200"]);
});
