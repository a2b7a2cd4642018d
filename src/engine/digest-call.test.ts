import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../protocol/index.ts";
import { digestCall } from "./digest-call.ts";

const parse = (text: string): JsonObject => JSON.parse(text) as JsonObject;

describe("digestCall", () => {
  it.each([
    ['{"a":1,"b":[{"c":2,"d":3}]}', '{"b":[{"d":3,"c":2}],"a":1}'],
    ['{"a":-0}', '{"a":0}'],
    ['{"a":1.0}', '{"a":1e0}'],
    ['{"\\u0061":"\\u00e9"}', '{"a":"é"}'],
    ['{"a":1,"a":2}', '{"a":2}'],
  ])("is the same for %s and %s", (one, other) => {
    expect(digestCall("t", parse(one))).toBe(digestCall("t", parse(other)));
  });

  it.each([
    ['{"a":1}', '{"a":"1"}'],
    ['{"a":[1,2]}', '{"a":[2,1]}'],
    ['{"a":null}', "{}"],
    ['{"a":"\\ud800"}', '{"a":"\\ud801"}'],
    ['{"a":"\\ud800"}', '{"a":"\\ufffd"}'],
    ['{"a":"e\\u0301"}', '{"a":"\\u00e9"}'],
    ['{"__proto__":{"x":1}}', "{}"],
    ['{"a":{"__proto__":1}}', '{"a":{}}'],
    ['{"a":"b\\",\\"c\\":\\"d"}', '{"a":"b","c":"d"}'],
  ])("distinguishes %s and %s", (one, other) => {
    expect(digestCall("t", parse(one))).not.toBe(digestCall("t", parse(other)));
  });

  it("distinguishes tools even if a name looks like arguments", () => {
    const all = [
      digestCall("t", {}),
      digestCall("T", {}),
      digestCall("t,{}", {}),
      digestCall(undefined, {}),
      digestCall("t", undefined),
    ];
    expect(new Set(all).size).toBe(all.length);
  });

  it("is the same before and after a round trip through JSON", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: "binary" }), fc.jsonValue()), (input) => {
        const read = JSON.parse(JSON.stringify(input)) as JsonObject;
        const turned = Object.fromEntries(Object.entries(read).toReversed());
        expect(digestCall("t", turned)).toBe(digestCall("t", input as JsonObject));
      }),
    );
  });
});
