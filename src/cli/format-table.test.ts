import { expect, test } from "vitest";
import { formatAge, formatTable } from "./format-table.ts";

const style = (_: unknown, text: string): string => text;
const HEAD = ["SESSION", "AGE", "TITLE"];
const ROWS = [
  ["3f2a9c81d4e0", "3 min", "What is the weather in Kyoto this weekend, and what should I pack?"],
  ["b", "2 d", "京都\u001B[31m"],
];

test("aligns columns, cuts the last one, and shows a head only on a terminal", () => {
  expect(formatTable(HEAD, ROWS, { columns: 40, style })).toBe(
    "SESSION       AGE    TITLE\n3f2a9c81d4e0  3 min  What is the weathe…\nb             2 d    京都\uFFFD[31m\n",
  );
  const piped = formatTable(HEAD, ROWS, { columns: undefined, style });
  expect(piped).toContain("what should I pack?\n");
  expect(piped).not.toContain("SESSION");
  expect(formatTable(HEAD, [], { columns: 80, style })).toBe("");
});

test("puts the last column below the others in a narrow window", () => {
  expect(formatTable(HEAD, ROWS.slice(1), { columns: 16, style })).toBe(
    "SESSION  AGE\n  TITLE\nb        2 d\n  京都\uFFFD[31m\n",
  );
});

test("formats ages", () => {
  const ages = [500, 59_000, 61_000, 3_600_000, 49 * 3_600_000, -5].map((ms) => formatAge(0, ms));
  expect(ages).toEqual(["0 s", "59 s", "1 min", "1 h", "2 d", "0 s"]);
});
