/**
 * Checks the invariant of both framings: the outcomes depend on the bytes, not on how they are split. NDJSON is also
 * compared with a simple reference decoder, because a fault that occurs with every split would pass the first check.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { SAMPLES } from "../../test/sampling.ts";
import type { FrameDecoder, FrameOutcome, FramingOptions } from "./frame.ts";
import { createNdjsonDecoder } from "./ndjson.ts";
import { createSseDecoder } from "./sse.ts";

type CreateDecoder = (options?: FramingOptions) => FrameDecoder;

const MAX = 24;
const encoder = new TextEncoder();

const decoders: [string, CreateDecoder][] = [
  ["ndjson", createNdjsonDecoder],
  ["sse", createSseDecoder],
];

/** Feeds every chunk from the same buffer and clears it afterwards, like a caller that reuses its buffer. */
function decode(create: CreateDecoder, chunks: Uint8Array[], options: FramingOptions): FrameOutcome[] {
  const decoder = create(options);
  const outcomes: FrameOutcome[] = [];
  const shared = new Uint8Array(Math.max(0, ...chunks.map((chunk) => chunk.length)));
  for (const chunk of chunks) {
    shared.set(chunk);
    outcomes.push(...decoder.push(shared.subarray(0, chunk.length)));
    shared.fill(0x3f);
  }
  outcomes.push(...decoder.end());
  return outcomes;
}

function cutAt(bytes: Uint8Array, points: number[]): Uint8Array[] {
  const edges = [0, ...points.map((point) => point % (bytes.length + 1)).toSorted((a, b) => a - b), bytes.length];
  return edges.slice(1).map((edge, i) => bytes.subarray(edges[i], edge));
}

// Small parts that often break framers: line ends, fields, characters of 2 to 4 bytes, invalid and incomplete
// characters. MAX is small, so lines that are too long are common.
const part = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom("\n", "\r", "\r\n", "\n\n", "\r\n\r\n", "\r\r", "\n\r") },
  { weight: 4, arbitrary: fc.constantFrom("data: ", "data", "data:", ":", "id: 7", "id", "event: e", "retry: 9", " ") },
  { weight: 4, arbitrary: fc.constantFrom("{}", "é", "汉字", "😀", "\uFEFF", "\uFFFD", "\0", "\u2028", "\t", "  ") },
  { weight: 1, arbitrary: fc.constant("x".repeat(MAX)) },
  { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 8 }) },
);
const rawBytes = fc.oneof(
  fc.constantFrom([0xff], [0xc3], [0xe6, 0xb1], [0xf0, 0x9f, 0x98], [0x80], [0xed, 0xa0, 0x80], [0xc0, 0x80]),
  fc.constantFrom([0xef], [0xef, 0xbb], [0xef, 0xbb, 0xbf]),
);
const stream = fc
  .array(
    fc.oneof(
      { weight: 12, arbitrary: part.map((text) => [...encoder.encode(text)]) },
      { weight: 1, arbitrary: rawBytes },
    ),
    { maxLength: 24 },
  )
  .chain((parts) =>
    fc
      .constantFrom([], [0xef], [0xef, 0xbb], [0xef, 0xbb, 0xbf])
      .map((head) => Uint8Array.from([head, ...parts].flat())),
  );

describe.each(decoders)("%s", (_name, create) => {
  test("gives the same result for every single split", () => {
    fc.assert(
      fc.property(stream, (bytes) => {
        const whole = decode(create, [bytes], { maxLineBytes: MAX });
        for (let at = 0; at <= bytes.length; at++) {
          expect(decode(create, cutAt(bytes, [at]), { maxLineBytes: MAX })).toEqual(whole);
        }
      }),
      { numRuns: SAMPLES.byteStreams },
    );
  });

  test("gives the same result for any splits, including empty chunks and single bytes", () => {
    fc.assert(
      fc.property(
        stream,
        fc.array(fc.nat(), { maxLength: 12 }),
        fc.integer({ min: 1, max: 80 }),
        (bytes, points, max) => {
          const whole = decode(create, [bytes], { maxLineBytes: max });
          expect(decode(create, cutAt(bytes, points), { maxLineBytes: max })).toEqual(whole);
          const singles = Array.from(bytes, (byte) => Uint8Array.of(byte));
          expect(decode(create, singles, { maxLineBytes: max })).toEqual(whole);
        },
      ),
      { numRuns: SAMPLES.byteStreams },
    );
  });

  test("gives the same result beyond the piece size", () => {
    const text = Array.from({ length: 20_000 }, (_, i) => `data: ${"é".repeat(i % 9)}${i}\r\n\r\n`).join("");
    const bytes = encoder.encode(text);
    const whole = decode(create, [bytes], {});
    expect(whole.length).toBe(20_000);
    for (const size of [1000, 65_535, 65_536, 65_537]) {
      const points = Array.from({ length: Math.floor(bytes.length / size) }, (_, i) => (i + 1) * size);
      expect(decode(create, cutAt(bytes, points), {})).toEqual(whole);
    }
  });
});

/** Reference implementation of NDJSON that has all bytes at hand. */
function readPlainly(bytes: Uint8Array, max: number): FrameOutcome[] {
  const hasBom = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  const binary = Array.from(hasBom ? bytes.subarray(3) : bytes, (byte) => String.fromCharCode(byte)).join("");
  const outcomes: FrameOutcome[] = [];
  for (const [index, given] of binary.split(/\r\n|\r|\n/).entries()) {
    const number = index + 1;
    const line = given.replace(/^[ \t]+/, "");
    if (line.length > max) {
      outcomes.push({ ok: false, reason: "line_too_long", line: number, detail: `longer than ${max} bytes` });
      continue;
    }
    const raw = Uint8Array.from(line, (char) => char.charCodeAt(0));
    try {
      const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(raw);
      if (text !== "") outcomes.push({ ok: true, text, line: number });
    } catch {
      outcomes.push({ ok: false, reason: "invalid_utf8", line: number, detail: "not valid UTF-8" });
    }
  }
  return outcomes;
}

test("decodes NDJSON like the reference implementation", () => {
  fc.assert(
    fc.property(stream, fc.integer({ min: 1, max: 80 }), (bytes, max) => {
      expect(decode(createNdjsonDecoder, [bytes], { maxLineBytes: max })).toEqual(readPlainly(bytes, max));
    }),
    { numRuns: 3 * SAMPLES.byteStreams },
  );
});

test("generates every kind of outcome", () => {
  const seen = new Set<string>();
  for (const bytes of fc.sample(stream, { numRuns: 500, seed: 1 })) {
    for (const [name, create] of decoders) {
      for (const outcome of decode(create, [bytes], { maxLineBytes: MAX })) {
        seen.add(`${name} ${outcome.ok ? "frame" : outcome.reason}`);
      }
    }
  }
  expect([...seen].toSorted()).toEqual([
    "ndjson frame",
    "ndjson invalid_utf8",
    "ndjson line_too_long",
    "sse frame",
    "sse invalid_utf8",
    "sse line_too_long",
    "sse unfinished_event",
  ]);
});
