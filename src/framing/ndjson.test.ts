import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { FrameOutcome } from "./frame.ts";
import { createNdjsonDecoder, encodeNdjson } from "./ndjson.ts";

function decode(text: string): FrameOutcome[] {
  const decoder = createNdjsonDecoder();
  return [...decoder.push(new TextEncoder().encode(text)), ...decoder.end()];
}

describe("createNdjsonDecoder", () => {
  test("gives one frame per line and skips but counts blank lines", () => {
    expect(decode('{"a":1}\n\n \t\r\n  {"b":2}\n')).toEqual([
      { ok: true, text: '{"a":1}', line: 1 },
      { ok: true, text: '{"b":2}', line: 4 },
    ]);
  });

  test("accepts a last line without a newline", () => {
    expect(decode("1\n2")).toEqual([
      { ok: true, text: "1", line: 1 },
      { ok: true, text: "2", line: 2 },
    ]);
  });

  test("drops the spaces before a frame, however they arrive, and does not count them towards the limit", () => {
    const whole = new TextEncoder().encode(`1\n${" ".repeat(100)}\t{"a":1}\n   `);
    const expected = [
      { ok: true, text: "1", line: 1 },
      { ok: true, text: '{"a":1}', line: 2 },
    ];
    for (const size of [1, 2, 5, 50, whole.length]) {
      const decoder = createNdjsonDecoder({ maxLineBytes: 7 });
      const found: FrameOutcome[] = [];
      for (let from = 0; from < whole.length; from += size)
        found.push(...decoder.push(whole.subarray(from, from + size)));
      expect([...found, ...decoder.end()]).toEqual(expected);
    }
  });

  test("gives other whitespace as a frame, so that it is reported as invalid JSON", () => {
    expect(decode("\u00A0\n\f\n").map((outcome) => outcome.line)).toEqual([1, 2]);
  });

  test("gives a frame as soon as its line is complete", () => {
    const decoder = createNdjsonDecoder();
    const encoder = new TextEncoder();
    expect(decoder.push(encoder.encode("1"))).toEqual([]);
    expect(decoder.push(encoder.encode("2\r"))).toEqual([{ ok: true, text: "12", line: 1 }]);
    expect(decoder.push(encoder.encode("\n3"))).toEqual([]);
    expect(decoder.end()).toEqual([{ ok: true, text: "3", line: 2 }]);
    expect(decoder.end()).toEqual([]);
  });
});

describe("encodeNdjson", () => {
  test("round-trips any value", () => {
    fc.assert(
      fc.property(fc.array(fc.json()), (values) => {
        const outcomes = decode(values.map((json) => encodeNdjson(json)).join(""));
        expect(outcomes).toEqual(values.map((text, index) => ({ ok: true, text, line: index + 1 })));
      }),
    );
  });

  test.each(["{\n}", "{\r}", "{}\n"])("rejects %j, which has a line break", (json) => {
    expect(() => encodeNdjson(json)).toThrow(TypeError);
  });
});
