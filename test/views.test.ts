/** Every golden view matches the computed one. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { computeViews, listViews, writeViews } from "./views.ts";

const VIEWS = listViews();

describe("golden views", () => {
  it.each(VIEWS.map((golden) => [golden.vector.name, golden] as const))("%s", (_name, { file, vector }) => {
    // Compared as text: a field that is undefined differs from a missing field.
    expect(writeViews(computeViews(vector))).toBe(readFileSync(file, "utf8"));
  });
});
