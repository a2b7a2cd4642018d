import { expect, it } from "vitest";
import { keepFocusedRow } from "./scrolling.ts";

const RANGE = { startIndex: 10, endIndex: 12, overscan: 1, count: 100 };

it("adds the focused row once and in order", () => {
  expect(keepFocusedRow(RANGE, -1)).toEqual([9, 10, 11, 12, 13]);
  expect(keepFocusedRow(RANGE, 11)).toEqual([9, 10, 11, 12, 13]);
  expect(keepFocusedRow(RANGE, 2)).toEqual([2, 9, 10, 11, 12, 13]);
  expect(keepFocusedRow(RANGE, 99)).toEqual([9, 10, 11, 12, 13, 99]);
  expect(keepFocusedRow(RANGE, 100)).toEqual([9, 10, 11, 12, 13]);
});
