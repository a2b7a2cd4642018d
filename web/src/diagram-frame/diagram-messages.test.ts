import { describe, expect, it } from "vitest";
import { limitOutcome, MAX_SOURCE, readDiagramOutcome, readDiagramRequest } from "./diagram-messages.ts";

const STYLE = {
  isDark: true,
  font: "a",
  ink: "b",
  soft: "c",
  line: "d",
  strong: "e",
  paper: "f",
  wash: "g",
  series: [],
};
const REQUEST = { number: 1, source: "flowchart LR", style: STYLE };
const DRAWING = { number: 2, svg: "<svg/>", width: 10, height: 20, name: "flow" };

describe("messages about diagrams", () => {
  it("are read in their form only, without other fields", () => {
    expect(readDiagramRequest(REQUEST)).toEqual(REQUEST);
    expect(readDiagramOutcome({ ...DRAWING, extra: 1 })).toEqual(DRAWING);
    expect(readDiagramOutcome({ number: 1, failure: "too_large" })).toEqual({ number: 1, failure: "too_large" });
    expect(readDiagramOutcome({ number: 1, failure: "invalid", message: "line 2" })).toMatchObject({
      message: "line 2",
    });
  });

  it.each([
    [undefined],
    ["ready"],
    [{ ...REQUEST, number: "1" }],
    [{ ...REQUEST, source: "x".repeat(MAX_SOURCE + 1) }],
    [{ ...REQUEST, style: { ...STYLE, ink: 3 } }],
    [{ ...REQUEST, style: { ...STYLE, series: Array.from({ length: 17 }, () => "red") } }],
    [{ ...REQUEST, style: { ...STYLE, series: "red" } }],
  ])("reject the request %#", (value: unknown) => {
    expect(readDiagramRequest(value)).toBeUndefined();
  });

  it.each([
    [null],
    [{ ...DRAWING, number: 0.5 }],
    [{ ...DRAWING, svg: "x".repeat(2_000_001) }],
    [{ ...DRAWING, width: Infinity }],
    [{ ...DRAWING, height: 0 }],
    [{ ...DRAWING, name: 5 }],
    [{ ...DRAWING, failure: "other" }],
    [{ number: 1, failure: "invalid", message: "x".repeat(201) }],
  ])("reject the outcome %#", (value: unknown) => {
    expect(readDiagramOutcome(value)).toBeUndefined();
  });

  it("are limited before they are sent", () => {
    const long = limitOutcome({ svg: "<svg/>", width: 1, height: 1, name: "n".repeat(999) });
    expect(readDiagramOutcome({ ...long, number: 1 })).toBeDefined();
    expect(limitOutcome({ svg: "<svg/>", width: 1, height: 90_000, name: "" })).toEqual({ failure: "too_large" });
    const message = limitOutcome({ failure: "invalid", message: "m".repeat(999) });
    expect(readDiagramOutcome({ ...message, number: 1 })).toBeDefined();
  });
});
