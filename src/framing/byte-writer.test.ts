import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ByteWriter } from "./byte-writer.ts";

type Step = readonly ["text" | "jsonString", string] | readonly ["integer", number] | readonly ["bytes", Uint8Array];

const anyText = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.string({ unit: "grapheme", maxLength: 200 }),
  fc.constantFrom("", '"', "\\", "\n", "你好", "é", "😀", "\ud800", "x".repeat(97), "你".repeat(97)),
);
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.tuple(fc.constant("text" as const), anyText),
  fc.tuple(fc.constant("jsonString" as const), anyText),
  fc.tuple(
    fc.constant("integer" as const),
    fc.oneof(fc.nat(), fc.maxSafeNat(), fc.constantFrom(0, 9, 10, 999_999_999, 1_000_000_000, Number.MAX_SAFE_INTEGER)),
  ),
  fc.tuple(fc.constant("bytes" as const), fc.uint8Array()),
);

function expected([kind, value]: Step): Uint8Array {
  if (kind === "bytes") return value;
  return new TextEncoder().encode(kind === "jsonString" ? JSON.stringify(value) : String(value));
}

describe("ByteWriter", () => {
  test("writes the same bytes as a string encoder, across buffer growth", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const writer = new ByteWriter();
        for (let round = 0; round < 2; round++) {
          for (const [kind, value] of steps) (writer[kind] as (given: typeof value) => void)(value);
          const whole = steps.flatMap((made) => [...expected(made)]);
          expect([...writer.take()]).toEqual(whole);
        }
      }),
      { numRuns: 300 },
    );
  });

  test("writes a long text with a different first byte", () => {
    for (const text of ['{"a":1}', `{"a":"${"x".repeat(40_000)}"}`, '{"a":"你好"}', '{"a":"😀"}']) {
      const writer = new ByteWriter();
      writer.text("before");
      writer.longText(text, 0x2c);
      writer.text("after");
      expect(new TextDecoder().decode(writer.take())).toBe(`before,${text.slice(1)}after`);
    }
  });

  test("returns bytes that later writes do not change", () => {
    const writer = new ByteWriter();
    writer.text("first");
    const taken = writer.take();
    writer.text("other");
    expect(new TextDecoder().decode(taken)).toBe("first");
  });
});
