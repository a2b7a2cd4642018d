import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { SAMPLES } from "../../test/sampling.ts";
import type { FrameOutcome } from "./frame.ts";
import { createSseDecoder, encodeSse, encodeSseComment, type SseEvent } from "./sse.ts";

function decode(input: string | number[], maxLineBytes?: number): FrameOutcome[] {
  const decoder = createSseDecoder(maxLineBytes === undefined ? {} : { maxLineBytes });
  const bytes = typeof input === "string" ? new TextEncoder().encode(input) : Uint8Array.from(input);
  return [...decoder.push(bytes), ...decoder.end()];
}

const frame = (
  text: string,
  line: number,
  more: { id?: string; event?: string; retry?: number } = {},
): FrameOutcome => ({
  ok: true,
  text,
  line,
  ...more,
});

describe("createSseDecoder", () => {
  test.each<[string, string, FrameOutcome[]]>([
    ["one event", "data: a\n\n", [frame("a", 1)]],
    ["several data lines", "data: a\ndata\ndata: b\n\n", [frame("a\n\nb", 1)]],
    ["the standard's first example", "data: YHOO\ndata: +2\ndata: 10\n\n", [frame("YHOO\n+2\n10", 1)]],
    [
      "the standard's second example",
      ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n",
      [frame("first event", 3, { id: "1" }), frame("second event", 6), frame(" third event", 9)],
    ],
    ["the standard's third example", "data\n\ndata\ndata\n\n", [frame("", 1), frame("\n", 3)]],
    [
      "one space after the colon, no more",
      "data:a\n\ndata: a\n\ndata:  a\n\n",
      [frame("a", 1), frame("a", 3), frame(" a", 5)],
    ],
    ["a tab is not removed", "data:\ta\n\n", [frame("\ta", 1)]],
    ["CR", "data: a\rdata: b\r\r", [frame("a\nb", 1)]],
    ["CRLF", "data: a\r\ndata: b\r\n\r\n", [frame("a\nb", 1)]],
    ["a BOM", "\uFEFFdata: a\n\n", [frame("a", 1)]],
    ["comments anywhere", ": x\n:\ndata: a\n: y\ndata: b\n:z\n\n", [frame("a\nb", 3)]],
    ["colons in the value", "data: a: b:c\n\n", [frame("a: b:c", 1)]],
    ["unknown fields and misspelled names", "foo: 1\nDATA: 2\n data: 3\ndata : 4\ndata: a\n\n", [frame("a", 5)]],
    ["an event type", "event: tick\ndata: a\n\ndata: b\n\n", [frame("a", 2, { event: "tick" }), frame("b", 4)]],
    ["the last of two types; an empty one counts as none", "event: x\nevent:\ndata: a\n\n", [frame("a", 3)]],
    ["an event without data gives no frame", "event: tick\nid: 4\n\ndata: a\n\n", [frame("a", 4, { id: "4" })]],
    ["a type without data is not kept", "event: tick\n\ndata: a\n\n", [frame("a", 3)]],
    [
      "an ID applies to later events",
      "id: 1\ndata: a\n\ndata: b\n\n",
      [frame("a", 2, { id: "1" }), frame("b", 4, { id: "1" })],
    ],
    ["an ID after its data", "data: a\nid: 2\n\n", [frame("a", 1, { id: "2" })]],
    ["an ID with NUL is ignored", "id: 1\nid: 2\0\ndata: a\n\n", [frame("a", 3, { id: "1" })]],
    ["retry, once", "retry: 1500\n\ndata: a\n\ndata: b\n\n", [frame("a", 3, { retry: 1500 }), frame("b", 5)]],
    ["retry in digits only", "retry: 1e3\nretry: -1\nretry:\nretry: 1.5\nretry: ٣\ndata: a\n\n", [frame("a", 6)]],
    ["retry beyond the range of numbers", `retry: ${"9".repeat(400)}\ndata: a\n\n`, [frame("a", 2)]],
    ["retry with leading zeros", "retry: 007\ndata: a\n\n", [frame("a", 2, { retry: 7 })]],
    ["nothing", "", []],
    ["blank lines", "\n\r\n\r", []],
    ["a comment at the end", "data: a\n\n: bye", [frame("a", 1)]],
  ])("%s", (_what, text, expected) => {
    expect(decode(text)).toEqual(expected);
  });

  test("gives a frame as soon as the blank line arrives, even if its CR may be half of a CRLF", () => {
    const decoder = createSseDecoder();
    const encoder = new TextEncoder();
    expect(decoder.push(encoder.encode("data: a\r\n"))).toEqual([]);
    expect(decoder.push(encoder.encode("\r"))).toEqual([frame("a", 1)]);
    expect(decoder.push(encoder.encode("\ndata: b\n\n"))).toEqual([frame("b", 3)]);
  });
});

describe("a cut stream", () => {
  test.each<[string, string, number]>([
    ["after the data", "data: a\n", 1],
    ["inside the data", "event: x\ndata: a", 2],
    ["before the data", ": x\nid: 4\nevent: x\n", 2],
    ["inside a field name", "\n\nda", 3],
    ["before the blank line", "data: a\ndata: b\r\n", 1],
  ])("is reported: %s", (_what, text, line) => {
    expect(decode(text)).toEqual([
      { ok: false, reason: "unfinished_event", line, detail: "the stream ended inside an event" },
    ]);
  });

  test("is reported as cut, not as invalid UTF-8, inside a character", () => {
    const cut = new TextEncoder().encode("data: a\ndata: 汉");
    expect(decode([...cut.subarray(0, -1)])).toMatchObject([{ ok: false, reason: "unfinished_event", line: 1 }]);
  });

  test("is reported once", () => {
    const decoder = createSseDecoder();
    decoder.push(new TextEncoder().encode("data: a\n"));
    expect(decoder.end()).toHaveLength(1);
    expect(decoder.end()).toEqual([]);
  });
});

describe("an invalid event", () => {
  const next = "data: b\n\n";

  test("is skipped up to its blank line if one line exceeds the limit", () => {
    expect(decode(`data: 0123456789\ndata: more\nevent: e\n\n${next}`, 12)).toEqual([
      { ok: false, reason: "line_too_long", line: 1, detail: "longer than 12 bytes" },
      frame("b", 5),
    ]);
  });

  test("is skipped and reported at its first data line if all lines together exceed the limit", () => {
    expect(decode(`id: 1\ndata: 01234\ndata: 012345\n\n${next}`, 12)).toEqual([
      frame("01234\n012345", 2, { id: "1" }),
      frame("b", 5, { id: "1" }),
    ]);
    expect(decode(`id: 1\ndata: 01234\ndata: 012345\ndata: x\n\n${next}`, 12)).toEqual([
      { ok: false, reason: "line_too_long", line: 2, detail: "event data is longer than 12 bytes" },
      frame("b", 6, { id: "1" }),
    ]);
  });

  test("is accepted at the limit, counted in bytes with the joining newlines", () => {
    const event = "data: é1\ndata: é2\ndata: 345\n\n";
    expect(decode(event + event, 11)).toEqual([frame("é1\né2\n345", 1), frame("é1\né2\n345", 5)]);
    expect(decode(event, 10)).toMatchObject([{ reason: "line_too_long" }]);
  });

  test("is limited even if all data lines are empty", () => {
    expect(decode(`${"data\n".repeat(7)}\n${"data\n".repeat(8)}\n`, 6)).toMatchObject([
      frame("\n".repeat(6), 1),
      { ok: false, reason: "line_too_long", line: 9 },
    ]);
  });

  test("is dropped completely if it has invalid UTF-8", () => {
    const bytes = [...new TextEncoder().encode("data: a\ndata: ?\ndata: ?\n\n".concat(next))];
    const bad = bytes.map((byte) => (byte === 0x3f ? 0xff : byte));
    expect(decode(bad)).toEqual([
      { ok: false, reason: "invalid_utf8", line: 2, detail: "not valid UTF-8" },
      frame("b", 5),
    ]);
  });

  test("still sets the ID, before and after the fault", () => {
    expect(decode(`data: 0123456789\nid: 9\nretry: 5\n\n${next}`, 12)).toMatchObject([
      { ok: false },
      frame("b", 5, { id: "9", retry: 5 }),
    ]);
  });

  test("is reported once if it is also cut", () => {
    expect(decode("data: 0123456789\ndata: x\n", 12)).toMatchObject([{ reason: "line_too_long" }]);
  });
});

describe("encodeSse", () => {
  test("writes ID, event, retry and one data line per line", () => {
    expect(encodeSse({ data: "a\nb\r\nc\rd", id: "1", event: "e", retry: 3 })).toBe(
      "id: 1\nevent: e\nretry: 3\ndata: a\ndata: b\ndata: c\ndata: d\n\n",
    );
  });

  test("round-trips data, with line breaks as LF", () => {
    const text = fc.string({
      unit: fc.oneof(
        fc.string({ unit: "binary", minLength: 1, maxLength: 2 }),
        fc.constantFrom("\n", "\r", "\r\n", " ", ":", "😀"),
      ),
    });
    const oneLine = text.map((value) => value.replace(/[\r\n\0]/g, "")).filter((value) => value !== "");
    const event = fc.record(
      { data: text, id: oneLine, event: oneLine, retry: fc.nat() },
      { requiredKeys: ["data", "id"] },
    );
    fc.assert(
      fc.property(fc.array(event), (events: SseEvent[]) => {
        const outcomes = decode(events.map((each) => encodeSse(each) + encodeSseComment(each.data)).join(""));
        expect(outcomes.map((outcome) => ({ ...outcome, line: 0 }))).toEqual(
          events.map(({ data, ...rest }) => ({ ok: true, text: data.replace(/\r\n|\r/g, "\n"), line: 0, ...rest })),
        );
      }),
      { numRuns: SAMPLES.byteStreams },
    );
  });

  test.each(["a\nb", "a\rb", "\r\n", "a\0"])("rejects %j as an ID or a type", (value) => {
    expect(() => encodeSse({ data: "", id: value })).toThrow(TypeError);
    expect(() => encodeSse({ data: "", event: value })).toThrow(TypeError);
  });

  test.each([-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])("rejects a retry of %s", (retry) => {
    expect(() => encodeSse({ data: "", retry })).toThrow(TypeError);
  });
});

describe("encodeSseComment", () => {
  test("cannot inject fields", () => {
    expect(encodeSseComment("ping")).toBe(": ping\n\n");
    expect(decode(encodeSseComment("a\ndata: b\r\rdata: c\r\n"))).toEqual([]);
  });
});
