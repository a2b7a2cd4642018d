import { describe, expect, it } from "vitest";
import type { DocumentText } from "loom-agent/server";
import { addParts, findPassage, joinParts } from "./document-parts.ts";

const part = (line: number, text = `line ${line}\n`, overlap = 0) => ({
  first_line: line,
  last_line: line,
  text,
  overlap,
});
const page = (from: number, count: number, indexed_at = 1) =>
  ({ indexed_at, from, parts: Array.from({ length: count }, (_, at) => part(from + at)) }) as unknown as DocumentText;

describe("the loaded parts of a document", () => {
  it("grow at both ends", () => {
    let loaded = addParts(undefined, page(10, 3));
    loaded = addParts(loaded, page(13, 2));
    loaded = addParts(loaded, page(8, 2));
    expect(loaded.from).toBe(8);
    expect(loaded.parts.map((one) => one.first_line)).toEqual([8, 9, 10, 11, 12, 13, 14]);
  });

  it("start over if there are too many", () => {
    const loaded = addParts(addParts(undefined, page(100, 200)), page(300, 200));
    expect([loaded.from, loaded.parts.length]).toEqual([100, 400]);
    expect(addParts(loaded, page(500, 50))).toMatchObject({ from: 500, parts: { length: 50 } });
    expect(addParts(loaded, page(50, 50))).toMatchObject({ from: 50, parts: { length: 50 } });
  });

  it("start over if the document was replaced, or if they do not meet", () => {
    const loaded = addParts(undefined, page(0, 3));
    expect(addParts(loaded, page(3, 2, 2))).toMatchObject({ from: 3, parts: [{}, {}] });
    expect(addParts(loaded, page(9, 2))).toMatchObject({ from: 9, parts: [{}, {}] });
  });
});

describe("a cited passage", () => {
  const parts = [part(1, "One. Two."), part(1, "\nThree **four**.", 4), part(5, "\n\nSix.")];
  const find = (cited: Parameters<typeof findPassage>[1]) => {
    const found = findPassage(parts, cited);
    return found && joinParts(parts).slice(found.start, found.end);
  };

  it("is found by its lines and words", () => {
    expect(find({ firstLine: 5 })).toBe("\n\nSix.");
    expect(find({ firstLine: 1, lastLine: 1, snippet: "…three four…".replace("t", "T") })).toBe("\nThree **four**.");
    expect(find({ firstLine: 1, snippet: "Two. Three" })).toBe("\nThree **four**.");
    expect(find({ firstLine: 1, snippet: "One." })).toBe("One. Two.");
  });

  it("is not found if the document changed", () => {
    expect(find({ firstLine: 5, snippet: "Seven" })).toBeUndefined();
    expect(find({ firstLine: 5, lastLine: 6 })).toBeUndefined();
    expect(find({ snippet: "Six" })).toBeUndefined();
  });
});
