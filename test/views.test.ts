/** Every golden view and message matches the computed one. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { computeMessages, computeViews, listViews, MESSAGES, writeViews } from "./views.ts";

const VIEWS = listViews();

describe("golden views", () => {
  it.each(VIEWS.map((golden) => [golden.vector.name, golden] as const))("%s", (_name, { file, vector }) => {
    // Compared as text: a field that is undefined differs from a missing field.
    expect(writeViews(computeViews(vector))).toBe(readFileSync(file, "utf8"));
  });
});

it("computes the golden messages of the runs in the engine dialect", () => {
  expect(computeMessages()).toBe(readFileSync(MESSAGES, "utf8"));
});
