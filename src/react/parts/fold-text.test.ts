// Truncated text must match the original, stay within its limit, and not split characters.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cutTail, findBlocks, findLastLine, foldText, isUpdateDue } from "./fold-text.ts";

const texts = fc.oneof(
  fc.string({ unit: "binary", maxLength: 60 }),
  fc.array(fc.constantFrom("a", "\n", "👩‍🚀", "字", " "), { maxLength: 80 }).map((parts) => parts.join("")),
);

const isWhole = (text: string): boolean => !/^[\uDC00-\uDFFF]/.test(text) && !/[\uD800-\uDBFF]$/.test(text);

describe("truncation", () => {
  it("keeps the end", () => {
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

describe("findLastLine", () => {
  it("returns the last non-empty line", () => {
    expect(findLastLine("one\ntwo\n\n  ")).toBe("two");
    expect(findLastLine("one\n  two words ")).toBe("two words");
    expect(findLastLine("")).toBe("");
    expect(findLastLine("x".repeat(1000))).toHaveLength(200);
  });
});

describe("foldText", () => {
  it("returns short text unchanged", () => {
    expect(foldText("a\nb\nc", 3, 100)).toBe("a\nb\nc");
    expect(foldText("a\nb\nc\n", 3, 100)).toBe("a\nb\nc\n");
    expect(foldText("a\nb\nc\nd", 3, 100)).toBe("a\nb\nc");
    expect(foldText("abcdef", 3, 4)).toBe("abcd");
  });

  it("returns the beginning of long text", () => {
    fc.assert(
      fc.property(texts, fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 40 }), (text, lines, max) => {
        const folded = foldText(text, lines, max);
        expect(text.startsWith(folded)).toBe(true);
        expect(folded.replace(/\n$/, "").split("\n").length).toBeLessThanOrEqual(lines);
      }),
    );
  });
});

describe("findBlocks", () => {
  const sizes = fc.integer({ min: 2, max: 9 });

  it("covers the text in order and ends blocks at line breaks", () => {
    fc.assert(
      fc.property(texts, sizes, (text, size) => {
        const blocks = findBlocks(text, size, Infinity).map(([from, to]) => text.slice(from, to));
        expect(blocks.join("")).toBe(text);
        for (const block of blocks.slice(0, -1)) expect(block.endsWith("\n")).toBe(true);
      }),
    );
  });

  it("keeps finished blocks while the text grows", () => {
    fc.assert(
      fc.property(texts, texts, sizes, (text, more, size) => {
        const before = findBlocks(text, size, Infinity).slice(0, -1);
        expect(findBlocks(text + more, size, Infinity).slice(0, before.length)).toEqual(before);
      }),
    );
  });

  it("returns at most the last characters requested", () => {
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

  it("does not read the text before the blocks", () => {
    const line = `${"x".repeat(50_000)}\n`;
    expect(findBlocks(line.repeat(3), 10, 25)).toEqual([[149_980, 150_003]]);
    expect(findBlocks("a\nb\n", 2, 100)).toEqual([[0, 4]]);
    expect(findBlocks("aaaa\n", 4, 4)).toEqual([[4, 5]]);
    expect(findBlocks("aa\nb\nccc\ndd\n", 3, 8)).toEqual([[9, 12]]);
  });
});

describe("isUpdateDue", () => {
  it("keeps the total cost linear", () => {
    let shown = 0;
    let cost = 0;
    const end = 2_000_000;
    for (let length = 0; length <= end; length += 4) {
      if (!isUpdateDue(shown, length)) continue;
      shown = length;
      if (length >= 65_536) cost += length;
    }
    expect(cost / end).toBeLessThan(4200);
    expect(isUpdateDue(100, 104)).toBe(true);
    expect(isUpdateDue(104, 104)).toBe(false);
    expect(isUpdateDue(1_000_000, 1_000_004)).toBe(false);
    expect(isUpdateDue(1_000_000, 10)).toBe(true);
  });
});
