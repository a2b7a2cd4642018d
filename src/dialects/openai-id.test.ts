import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatOpenaiId, parseOpenaiId } from "./openai-id.ts";

describe("IDs of the OpenAI dialects", () => {
  it("name their parts, fit into a URL, and differ by kind", () => {
    const text = fc.string({ unit: "grapheme" });
    fc.assert(
      fc.property(text, text, fc.nat(), text, (session, run, after, call) => {
        const response = formatOpenaiId("response", { session, run, after });
        expect(encodeURIComponent(response)).toBe(response);
        expect(parseOpenaiId("response", response)).toEqual({ session, run, after });
        const id = formatOpenaiId("call", { session, run, after, call });
        expect(parseOpenaiId("call", id)).toEqual({ session, run, after, call });
        expect(parseOpenaiId("response", id.replace("call_", "resp_"))).toBeUndefined();
        expect(parseOpenaiId("approval", id)).toBeUndefined();
      }),
    );
  });

  it("of other servers are not read", () => {
    const hostile = [
      "",
      "resp_",
      "resp_1",
      "resp_%00",
      "resp_WzFd",
      "resp_WyJhIiwiYiIsLTFd",
      "resp_WyJhIiwiYiIsMWUzMDBd",
    ];
    for (const id of [...hostile, `resp_${"A".repeat(10_000)}`, 7, null, undefined])
      expect(parseOpenaiId("response", id)).toBeUndefined();
    fc.assert(fc.property(fc.string(), (rest) => void parseOpenaiId("response", `resp_${rest}`)));
  });
});
