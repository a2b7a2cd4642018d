import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { deriveTitle, MAX_TITLE_CHARACTERS } from "./derive-title.ts";

const graphemes = new Intl.Segmenter();
const count = (text: string): number => [...graphemes.segment(text)].length;

describe("deriveTitle", () => {
  it.each([
    ["Where is Lisbon?", "Where is Lisbon?"],
    ["\r\n \t\nHello\tthere \nmore", "Hello there"],
    ["## Plan for **Monday**: `a.ts`", "Plan for Monday: a.ts"],
    ["```python\nprint(1)\n```", "print(1)"],
    ["  \n ", undefined],
    ["", undefined],
    ["Write a poem about the sea. It should rhyme, and have four lines.", "Write a poem about the sea"],
    ["Hi! Can you help me with my taxes?", "Hi! Can you help me with my taxes?"],
    ["What is 3.5 + 1?", "What is 3.5 + 1?"],
    ["你好！请写一首关于大海的诗。要押韵。", "你好！请写一首关于大海的诗"],
    ["里斯本在哪里？\n谢谢", "里斯本在哪里？"],
    ["x".repeat(80), "x".repeat(80)],
    ["x".repeat(81), `${"x".repeat(79)}…`],
    [`${"word ".repeat(15)}beautifully long`, `${"word ".repeat(15).trim()}…`],
  ])("turns %j into %j", (message, title) => {
    expect(deriveTitle(message)).toBe(title);
  });

  it("uses the names of files if there is no text", () => {
    expect(deriveTitle(" ", [{ name: "a.pdf" }, {}, { name: "b.png" }])).toBe("a.pdf, b.png");
    expect(deriveTitle("Read this", [{ name: "a.pdf" }])).toBe("Read this");
    expect(deriveTitle("", [{}])).toBeUndefined();
  });

  it("cuts between graphemes, also in text without spaces", () => {
    const chinese = deriveTitle("请帮我写一份关于城市交通的报告，".repeat(10)) ?? "";
    expect(count(chinese)).toBeLessThanOrEqual(MAX_TITLE_CHARACTERS);
    expect(count(chinese)).toBeGreaterThan(60);
    const family = "👩‍👩‍👧‍👦";
    const families = deriveTitle(family.repeat(200)) ?? "";
    expect(families.replaceAll(family, "")).toBe("…");
  });

  it("returns a short, trimmed, well-formed single line", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 120 }), (message) => {
        const title = deriveTitle(message);
        if (title === undefined) return;
        expect(title).not.toMatch(/[\r\n\0]/);
        expect(title.isWellFormed()).toBe(true);
        expect(title.trim()).toBe(title);
        expect(title).not.toBe("");
        expect(count(title)).toBeLessThanOrEqual(MAX_TITLE_CHARACTERS);
        expect(title.length).toBeLessThanOrEqual(1000);
      }),
      // Segmenting such texts is slow.
      { numRuns: 25 },
    );
  });
});
