import { describe, expect, test } from "vitest";
import { cleanText, cutColumns, wrapText } from "./fit-text.ts";

describe("cutColumns", () => {
  test.each([
    ["fits", "abc", 3, "abc"],
    ["too long", "abcd", 3, "ab…"],
    ["wide characters take two columns", "你好吗", 6, "你好吗"],
    ["does not cut a wide character in half", "你好吗", 5, "你好…"],
    ["may leave a column empty", "你好吗", 4, "你…"],
    ["mixed", "a你b好", 5, "a你b…"],
    ["full-width forms and Hangul", "ＡＢ한글", 7, "ＡＢ한…"],
    ["an emoji is one character of two columns", "🌸🌸🌸", 5, "🌸🌸…"],
    ["an emoji of two code points", "❤\uFE0F❤\uFE0F❤\uFE0F", 5, "❤\uFE0F❤\uFE0F…"],
    ["combining marks take no column", "e\u0301e\u0301e\u0301", 3, "e\u0301e\u0301e\u0301"],
    ["combining marks stay with their letter", "e\u0301e\u0301e\u0301", 2, "e\u0301…"],
    ["an ideograph outside the basic plane", "𠀀𠀀", 3, "𠀀…"],
    ["empty", "", 3, ""],
  ])("%s", (_name, text, width, expected) => {
    expect(cutColumns(text, width)).toBe(expected);
  });

  test("bounds characters that take no column", () => {
    expect(cutColumns(`a${"\u0301".repeat(100_000)}`, 10).length).toBeLessThan(50);
  });
});

describe("cleanText", () => {
  test("replaces control characters, line separators and bidirectional marks", () => {
    expect(cleanText("a\u001B[31m\r\n\u0007\u009Bb\u202Ec\u2028d\u007F")).toBe("a�[31m����b�c�d�");
  });

  test("keeps printable text", () => {
    const text = "naïve 你好 🌸 ‘quotes’ → \u200D";
    expect(cleanText(text)).toBe(text);
    expect(cleanText("\ta")).toBe(" a");
  });
});

describe("wrapText", () => {
  test.each([
    ["one line", "to be or not", 20, "to be or not"],
    ["breaks at spaces", "to be or not", 5, "to be\n  or\n  not"],
    ["a line may be full", "to be or", 8, "to be or"],
    ["a long word stays whole", "a incomprehensible b", 5, "a\n  incomprehensible\n  b"],
    ["by columns", "你好 你好 你好", 9, "你好 你好\n  你好"],
    ["ANSI styles take no column", "\u001B[31mto be\u001B[39m or", 8, "\u001B[31mto be\u001B[39m or"],
  ])("%s", (_name, text, width, expected) => {
    expect(wrapText(text, width, "  ")).toBe(expected);
  });
});
