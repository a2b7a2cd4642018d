import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isDeeperThan } from "../protocol/json.ts";
import { toJson } from "./to-json.ts";

describe("toJson", () => {
  it("keeps JSON unchanged", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
        const copy: unknown = JSON.parse(JSON.stringify(value));
        expect(toJson(copy)).toEqual({ value: copy, isCut: false });
      }),
      { numRuns: 300 },
    );
  });

  it("converts any value to JSON", () => {
    fc.assert(
      fc.property(
        fc.anything({
          withBigInt: true,
          withMap: true,
          withSet: true,
          withTypedArray: true,
          withDate: true,
          withNullPrototype: true,
          withSparseArray: true,
          withObjectString: true,
        }),
        (value) => {
          const made = toJson(value);
          expect(JSON.parse(JSON.stringify(made.value))).toEqual(JSON.parse(JSON.stringify(made.value)));
          expect(isDeeperThan(made.value)).toBe(false);
        },
      ),
      { numRuns: 500 },
    );
  });

  it("converts values without a JSON form", () => {
    const circle: { self?: unknown; name: string } = { name: "circle" };
    circle.self = circle;
    const value = {
      small: 12n,
      large: 2n ** 64n,
      nothing: undefined,
      list: [undefined, () => 1, Number.NaN],
      date: new Date(0),
      map: new Map([["a", 1]]),
      set: new Set([1, 2]),
      bytes: new Uint8Array(3),
      error: new TypeError("bad"),
      circle,
      lone: "\ud800",
      get broken(): never {
        throw new Error("no");
      },
    };
    const { broken: _, ...readable } = Object.getOwnPropertyDescriptors(value);
    expect(toJson(Object.defineProperties({}, readable)).value).toEqual({
      small: 12,
      large: "18446744073709551616",
      list: [null, null, null],
      date: "1970-01-01T00:00:00.000Z",
      map: { a: 1 },
      set: [1, 2],
      bytes: "[3 bytes]",
      error: { name: "TypeError", message: "bad" },
      circle: { name: "circle", self: "[circular]" },
      lone: "\ufffd",
    });
    expect(toJson(value).value).toBe("[unreadable]");
    expect(toJson(undefined).value).toBeNull();
  });

  it("keeps the key __proto__", () => {
    const { value } = toJson(JSON.parse('{"__proto__": {"x": 1}}'));
    expect(JSON.stringify(value)).toBe('{"__proto__":{"x":1}}');
    expect(({} as { x?: number }).x).toBeUndefined();
  });

  it("terminates for huge values", () => {
    // Each level doubles the value: in full it would have 2^60 parts.
    let shared: unknown = "x";
    for (let level = 0; level < 60; level++) shared = [shared, shared];
    expect(toJson(shared).isCut).toBe(true);
    expect(toJson({ shared }).isCut).toBe(true);
    let deep: unknown = 1;
    for (let level = 0; level < 100_000; level++) deep = [deep];
    expect(toJson(deep).isCut).toBe(true);
    expect(toJson("x".repeat(2 ** 21)).isCut).toBe(true);
  });
});
