// Pieces of long texts. What is cut must be what stands there, bounded, and whole characters.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cutHead, cutTail, findBlocks, findLastLine, foldText, isStepDue } from "./cut-text.ts";

const texts = fc.oneof(
  fc.string({ unit: "binary", maxLength: 60 }),
  fc.array(fc.constantFrom("a", "\n", "👩‍🚀", "字", " "), { maxLength: 80 }).map((parts) => parts.join("")),
);

const isWhole = (text: string): boolean => !/^[\uDC00-\uDFFF]/.test(text) && !/[\uD800-\uDBFF]$/.test(text);

describe("a text that is cut", () => {
  it("keeps its beginning", () => {
    fc.assert(
      fc.property(texts, fc.integer({ min: 1, max: 40 }), (text, max) => {
        const head = cutHead(text, max);
        expect(text.startsWith(head)).toBe(true);
        expect(head.length).toBeLessThanOrEqual(max + 1);
        if (text.length > max) expect(head.length).toBeGreaterThanOrEqual(max);
        if (text.isWellFormed()) expect(isWhole(head)).toBe(true);
      }),
    );
  });

  it("keeps its end", () => {
    fc.assert(
      fc.property(texts, fc.integer({ min: 2, max: 40 }), (text, max) => {
        const tail = cutTail(text, max);
        expect(text.endsWith(tail)).toBe(true);
        expect(tail.length).toBeLessThanOrEqual(max);
        expect(tail.length).toBeGreaterThanOrEqual(Math.min(text.length, max - 1));
        if (text.isWellFormed()) expect(isWhole(tail)).toBe(true);
      }),
    );
  });
});

describe("the newest line", () => {
  it("is the last that says something", () => {
    expect(findLastLine("one\ntwo\n\n  ")).toBe("two");
    expect(findLastLine("one\n  two words ")).toBe("two words");
    expect(findLastLine("")).toBe("");
    expect(findLastLine("x".repeat(1000))).toHaveLength(200);
  });
});

describe("a text that is folded", () => {
  it("is itself where it is short", () => {
    expect(foldText("a\nb\nc", 3, 100)).toBe("a\nb\nc");
    expect(foldText("a\nb\nc\n", 3, 100)).toBe("a\nb\nc\n");
    expect(foldText("a\nb\nc\nd", 3, 100)).toBe("a\nb\nc");
    expect(foldText("abcdef", 3, 4)).toBe("abcd");
  });

  it("is the beginning of itself", () => {
    fc.assert(
      fc.property(texts, fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 40 }), (text, lines, max) => {
        const folded = foldText(text, lines, max);
        expect(text.startsWith(folded)).toBe(true);
        expect(folded.replace(/\n$/, "").split("\n").length).toBeLessThanOrEqual(lines);
      }),
    );
  });
});

describe("the blocks of a text", () => {
  const sizes = fc.integer({ min: 2, max: 9 });

  it("are all of it, in order, and end with a line", () => {
    fc.assert(
      fc.property(texts, sizes, (text, size) => {
        const blocks = findBlocks(text, size, Infinity).map(([from, to]) => text.slice(from, to));
        expect(blocks.join("")).toBe(text);
        for (const block of blocks.slice(0, -1)) expect(block.endsWith("\n")).toBe(true);
      }),
    );
  });

  it("stay what they are while it grows", () => {
    fc.assert(
      fc.property(texts, texts, sizes, (text, more, size) => {
        const before = findBlocks(text, size, Infinity).slice(0, -1);
        expect(findBlocks(text + more, size, Infinity).slice(0, before.length)).toEqual(before);
      }),
    );
  });

  it("are the last, of no more characters than asked for", () => {
    fc.assert(
      fc.property(texts, sizes, fc.integer({ min: 2, max: 5 }), (text, size, times) => {
        const max = size * times;
        const blocks = findBlocks(text, size, max);
        const all = blocks.map(([from, to]) => text.slice(from, to)).join("");
        expect(text.endsWith(all)).toBe(true);
        expect(all.length).toBeLessThanOrEqual(max);
        expect(all.length).toBeGreaterThanOrEqual(Math.min(text.length, max - 2 * size));
        expect(all === "").toBe(text === "");
        if (text.isWellFormed()) expect(isWhole(all)).toBe(true);
      }),
    );
  });

  it("are found without reading what is before them", () => {
    const line = `${"x".repeat(50_000)}\n`;
    expect(findBlocks(line.repeat(3), 10, 25)).toEqual([[149_980, 150_003]]);
    expect(findBlocks("a\nb\n", 2, 100)).toEqual([[0, 4]]);
    expect(findBlocks("aaaa\n", 4, 4)).toEqual([[4, 5]]);
    expect(findBlocks("aa\nb\nccc\ndd\n", 3, 8)).toEqual([[9, 12]]);
  });
});

describe("a text that is shown in steps", () => {
  it("is looked into so often that all looks together cost a constant per character", () => {
    let shown = 0;
    let cost = 0;
    const end = 2_000_000;
    for (let length = 0; length <= end; length += 4) {
      if (!isStepDue(shown, length)) continue;
      shown = length;
      if (length >= 65_536) cost += length;
    }
    expect(cost / end).toBeLessThan(4200);
    expect(isStepDue(100, 104)).toBe(true);
    expect(isStepDue(104, 104)).toBe(false);
    expect(isStepDue(1_000_000, 1_000_004)).toBe(false);
    expect(isStepDue(1_000_000, 10)).toBe(true);
  });
});
