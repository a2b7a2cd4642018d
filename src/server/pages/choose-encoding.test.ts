import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { chooseEncoding } from "./choose-encoding.ts";

describe("the content encoding", () => {
  it.each([
    [null, "identity"],
    ["", "identity"],
    ["gzip, deflate, br, zstd", "br"],
    ["gzip, deflate", "gzip"],
    ["GZIP;q=0.5, br;q=0.2", "gzip"],
    ["br;q=0, gzip", "gzip"],
    ["br;q=0", "identity"],
    ["*", "br"],
    ["*;q=0", "identity"],
    ["br;q=0, *", "gzip"],
    ["identity, br;q=0.5", "identity"],
    ["identity;q=0.5, gzip;q=0.5", "gzip"],
    ["br;q=x", "identity"],
    ["deflate", "identity"],
  ])("for %j is %s", (accepted, encoding) => {
    expect(chooseEncoding(accepted)).toBe(encoding);
  });

  it("is always one that the header accepts", () => {
    const names = fc.constantFrom("br", "gzip", "identity", "*", "deflate", "x");
    const weight = fc.constantFrom("", ";q=0", ";q=0.5", "; Q=1", ";q=", ";q=-1", ";q=9");
    const header = fc.array(fc.tuple(names, weight)).map((parts) => parts.map((part) => part.join("")).join(" , "));
    fc.assert(
      fc.property(fc.oneof(header, fc.string()), (accepted) => {
        const chosen = chooseEncoding(accepted);
        expect(chosen === "identity" || accepted.toLowerCase().includes(chosen) || accepted.includes("*")).toBe(true);
      }),
    );
  });
});
