import { describe, expect, it } from "vitest";
import type { DocumentText } from "../../../src/server/api/shapes.generated.ts";
import { addParts, findPassage, joinParts, openAtPassage } from "./document-parts.ts";

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

describe("a document that is opened at a cited passage", () => {
  /** One line of many parts, between two others. Each part repeats the last word of the one before. */
  const openLong = async (count: number, cited: Parameters<typeof findPassage>[1]) => {
    const long = Array.from({ length: count }, (_, at) =>
      part(2, ` Word${at}.`, at === 0 ? 0 : `Word${at - 1}.`.length),
    );
    const parts = [part(1), ...long, part(3)];
    const asked: string[] = [];
    const opened = await openAtPassage(async ({ line, from = 0, limit }) => {
      const start =
        line === undefined ? from : Math.max(0, parts.findIndex(({ first_line }) => first_line >= line) - 4);
      asked.push(`${start}+${limit}`);
      const found = { indexed_at: 1, passages: parts.length, from: start, parts: parts.slice(start, start + limit) };
      return found as unknown as DocumentText;
    }, cited);
    const loaded = addParts(undefined, opened.page);
    const range = findPassage(loaded.parts, cited);
    const passage = range && joinParts(loaded.parts).slice(range.start, range.end);
    return { asked, from: loaded.from, passage, isIncomplete: opened.isIncomplete };
  };
  const cite = (snippet: string, firstLine = 2) => ({ firstLine, snippet });

  it("shows the passage, however long its line is", async () => {
    expect(await openLong(103, cite("Word7."))).toMatchObject({ asked: ["0+50"], from: 0, passage: " Word7." });
    const found = await openLong(103, cite("Word89. Word90."));
    expect(found).toEqual({ asked: ["0+50", "49+200"], from: 87, passage: " Word90.", isIncomplete: false });
    // Its first words are at the end of the part before, which was in the previous response.
    expect(await openLong(400, cite("Word247. Word248."))).toMatchObject({ from: 248, passage: " Word248." });
  });

  it("reads no further than the line, and not without end", async () => {
    const changed = await openLong(60, cite("gone"));
    expect(changed).toEqual({ asked: ["0+50", "49+200"], from: 0, passage: undefined, isIncomplete: false });
    expect(await openLong(200, cite("gone", 1))).toMatchObject({ asked: ["0+50"], isIncomplete: false });
    expect(await openLong(200, {})).toMatchObject({ asked: ["0+50"], isIncomplete: false });
    const endless = await openLong(9000, cite("gone"));
    expect([endless.asked.length, endless.from, endless.isIncomplete]).toEqual([20, 0, true]);
  });
});
