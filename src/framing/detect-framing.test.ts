import { describe, expect, test } from "vitest";
import { detectFraming } from "./detect-framing.ts";

const encoder = new TextEncoder();

describe("detectFraming", () => {
  test.each([
    ["{", "ndjson"],
    ['{"data": 1}', "ndjson"],
    ["[1]", "ndjson"],
    ['"data:"', "ndjson"],
    ["\n \r\n\t{", "ndjson"],
    ["\uFEFF{", "ndjson"],
    ["data: x", "sse"],
    ["data:", "sse"],
    ["event: 汉", "sse"],
    ["id:1", "sse"],
    ["retry: 10", "sse"],
    [": comment", "sse"],
    ["\r\n\r\nevent:x", "sse"],
    ["\uFEFF\n:", "sse"],
  ])("%j is %s", (text, framing) => {
    expect(detectFraming(encoder.encode(text))).toBe(framing);
  });

  test.each(["", " ", "\n\n", "d", "data", "even", "\uFEFF", " data: x", "data : x", "database: x", "hello\n{}", "12"])(
    "%j is undefined",
    (text) => {
      expect(detectFraming(encoder.encode(text))).toBeUndefined();
    },
  );

  test("never changes its result with more bytes", () => {
    for (const text of ["\uFEFF\r\n data\n", '\n\t{"a":"é"}', "\r\nretry: 汉\n\n", "id: 1\ndata: {}\n\n"]) {
      const bytes = encoder.encode(text);
      const answers = Array.from(bytes, (_, end) => detectFraming(bytes.subarray(0, end + 1)));
      const first = answers.findIndex((answer) => answer !== undefined);
      const expected = detectFraming(bytes);
      expect(answers.slice(first === -1 ? 0 : first).every((answer) => answer === expected)).toBe(true);
    }
  });
});
