import { describe, expect, test, vi } from "vitest";
import { decodeUtf8, measureUtf8 } from "./decode-utf8.ts";
import { LineSplitter } from "./line-splitter.ts";
import { LONG } from "../../test/sampling.ts";

const encoder = new TextEncoder();

function split(chunks: (string | number[])[], maxLineBytes?: number): string[] {
  const seen: string[] = [];
  const splitter = new LineSplitter(
    {
      line: (text, number) => seen.push(`${number} ${text}`),
      fault: (reason, number) => seen.push(`${number} !${reason}`),
    },
    maxLineBytes === undefined ? {} : { maxLineBytes },
  );
  for (const chunk of chunks) splitter.push(typeof chunk === "string" ? encoder.encode(chunk) : Uint8Array.from(chunk));
  splitter.end();
  return seen;
}

describe("LineSplitter", () => {
  test.each<[string, (string | number[])[], string[]]>([
    ["treats LF, CRLF and CR alike", ["a\nb\r\nc\rd"], ["1 a", "2 b", "3 c", "4 d"]],
    ["treats LF CR as two line ends", ["a\n\rb"], ["1 a", "2 ", "3 b"]],
    ["treats a split CRLF as one line end", ["a\r", "\nb\n"], ["1 a", "2 b"]],
    ["handles a split CRLF after a carried line", ["a", "b\r", "\n", "c"], ["1 ab", "2 c"]],
    ["handles CR followed by LF CR in the next chunk", ["a\r", "\n\rb"], ["1 a", "2 ", "3 b"]],
    ["handles an empty chunk between CR and LF", ["a\r", "", "\nb"], ["1 a", "2 b"]],
    ["counts empty lines", ["\n\n\na"], ["1 ", "2 ", "3 ", "4 a"]],
    ["nothing", [""], []],
    ["gives no line after the last line end", ["a\n"], ["1 a"]],
    ["removes a BOM only at the start", ["\uFEFFa\n\uFEFFb"], ["1 a", "2 \uFEFFb"]],
    ["removes one BOM, not two", ["\uFEFF\uFEFFa"], ["1 \uFEFFa"]],
    ["removes a BOM split over three chunks", [[0xef], [0xbb], [0xbf, 0x61]], ["1 a"]],
    ["accepts a BOM alone", [[0xef, 0xbb, 0xbf]], []],
    ["keeps a character that starts like a BOM", [[0xef], [0xbb], [0xbe]], ["1 \uFEFE"]],
    ["reports an incomplete BOM", [[0xef], [0xbb]], ["1 !invalid_utf8"]],
    ["joins a character split over four chunks", [[0xf0], [0x9f], [0x98], [0x80]], ["1 😀"]],
    ["loses only the invalid line", [[0x61, 0x0a, 0xff, 0x0d, 0x0a, 0x62, 0x0a]], ["1 a", "2 !invalid_utf8", "3 b"]],
    ["accepts U+FFFD in the input", ["\uFFFD\n\uFFFDb"], ["1 \uFFFD", "2 \uFFFDb"]],
    [
      "accepts U+FFFD next to an invalid line",
      [[0xef, 0xbf, 0xbd, 0x0a, 0xc3, 0x0a, 0x62]],
      ["1 \uFFFD", "2 !invalid_utf8", "3 b"],
    ],
  ])("%s", (_what, chunks, expected) => {
    expect(split(chunks)).toEqual(expected);
  });

  test.each<[string, string[], string[]]>([
    ["accepts a line at the limit", ["abcd\nef"], ["1 abcd", "2 ef"]],
    ["rejects a line beyond it in one chunk", ["abcde\nf"], ["1 !line_too_long", "2 f"]],
    ["rejects a line beyond it in many chunks", ["ab", "cd", "e", "fghi", "j\r", "\nf"], ["1 !line_too_long", "2 f"]],
    ["rejects a line beyond it without a line end", ["ok\nabcdefghijk"], ["1 ok", "2 !line_too_long"]],
    ["rejects two lines beyond it", ["abcdefgh\nabcdefgh\nok"], ["1 !line_too_long", "2 !line_too_long", "3 ok"]],
    ["counts bytes, not characters", ["汉字\n汉"], ["1 !line_too_long", "2 汉"]],
    ["does not count the BOM", ["\uFEFFabcd"], ["1 abcd"]],
  ])("with a limit of 4: %s", (_what, chunks, expected) => {
    expect(split(chunks, 4)).toEqual(expected);
  });

  test("reports a line as too long before it ends", () => {
    const faults: number[] = [];
    const sink = { line: () => {}, fault: (_reason: string, number: number) => faults.push(number) };
    const splitter = new LineSplitter(sink, { maxLineBytes: 2 });
    splitter.push(encoder.encode("a\nbcd"));
    expect(faults).toEqual([2]);
  });

  test.runIf(LONG)("reads a line of 1 MiB that arrives byte by byte", () => {
    const byte = Uint8Array.of(0x61);
    const lines: string[] = [];
    const splitter = new LineSplitter({ line: (text) => lines.push(text), fault: () => {} });
    for (let i = 0; i < 1024 * 1024; i++) splitter.push(byte);
    splitter.end();
    expect(lines).toEqual(["a".repeat(1024 * 1024)]);
  });

  test("copies a line that arrives byte by byte a bounded number of times", () => {
    const size = 64 * 1024;
    const byte = Uint8Array.of(0x61);
    const splitter = new LineSplitter({ line: () => {}, fault: () => {} });
    const set = vi.spyOn(Uint8Array.prototype, "set");
    try {
      for (let i = 0; i < size; i++) splitter.push(byte);
      const copied = set.mock.calls.reduce((sum, [source]) => sum + source.length, 0);
      // Each byte once on arrival, and less than once more for all buffer growth.
      expect(copied).toBeGreaterThanOrEqual(size);
      expect(copied).toBeLessThan(2 * size);
    } finally {
      set.mockRestore();
    }
  });

  test.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])("rejects a limit of %s", (maxLineBytes) => {
    expect(() => split([], maxLineBytes)).toThrow(TypeError);
  });
});

describe("decodeUtf8", () => {
  test.each<[string, number[], string | undefined]>([
    ["text", [0x61, 0xc3, 0xa9], "aé"],
    ["keeps a BOM", [0xef, 0xbb, 0xbf], "\uFEFF"],
    ["accepts U+FFFD", [0xef, 0xbf, 0xbd], "\uFFFD"],
    ["rejects an invalid byte", [0xff], undefined],
    ["rejects three invalid bytes, as long as U+FFFD", [0xef, 0xbf, 0xbd, 0xff, 0xff, 0xff], undefined],
    ["rejects invalid bytes that decode to the same length", [0xf0, 0x9f, 0x98], undefined],
    ["rejects an overlong NUL", [0xc0, 0x80], undefined],
    ["rejects half of a surrogate pair", [0xed, 0xa0, 0x80], undefined],
  ])("%s", (_what, bytes, expected) => {
    expect(decodeUtf8(Uint8Array.from(bytes))).toBe(expected);
  });

  test("measureUtf8 counts bytes", () => {
    expect(measureUtf8("aé汉😀")).toBe(10);
  });
});
