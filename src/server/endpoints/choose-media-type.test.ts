import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { chooseMediaType, type OfferedFormat } from "./choose-media-type.ts";

const OFFERED: readonly [OfferedFormat<string>, ...OfferedFormat<string>[]] = [
  { format: "json", mediaTypes: ["application/json"] },
  { format: "sse", mediaTypes: ["text/event-stream"] },
  { format: "ndjson", mediaTypes: ["application/x-ndjson", "application/jsonl"] },
];

describe("chooseMediaType", () => {
  it.each([
    [null, "json"],
    ["", "json"],
    ["*/*", "json"],
    ["text/event-stream", "sse"],
    ["TEXT/Event-Stream; charset=utf-8", "sse"],
    ["application/x-ndjson", "ndjson"],
    ["application/jsonl", "ndjson"],
    ["text/*", "sse"],
    // The more specific range wins.
    ["*/*, text/event-stream", "sse"],
    ["application/*, application/x-ndjson", "ndjson"],
    // Weights.
    ["text/event-stream;q=0.5, application/x-ndjson;q=0.9", "ndjson"],
    ["application/json;q=0.1, */*;q=0.2", "sse"],
    ["text/event-stream;q=0, */*;q=0.1", "json"],
    ["application/json;q=0, text/event-stream ; q=0.001", "sse"],
    // With equal weight and specificity the first wins.
    ["application/x-ndjson, text/event-stream", "ndjson"],
    ["text/event-stream, application/x-ndjson", "sse"],
    // Malformed and unavailable types are ignored.
    ["text/html", "json"],
    ["nonsense, text/event-stream", "sse"],
    ["*/json", "json"],
    ["text/event-stream;q=2, application/x-ndjson", "ndjson"],
    ["application/*;q=0, text/html", "json"],
  ])("chooses for %s: %s", (accept, format) => {
    expect(chooseMediaType(accept, OFFERED)).toBe(format);
  });

  it("always returns an offered format, and the one with the highest weight", () => {
    const formats = OFFERED.map(({ format }) => format);
    fc.assert(fc.property(fc.string(), (accept) => formats.includes(chooseMediaType(accept, OFFERED))));
    const weight = fc.integer({ min: 1, max: 999 });
    fc.assert(
      fc.property(fc.uniqueArray(weight, { minLength: 3, maxLength: 3 }), fc.boolean(), (weights, isReversed) => {
        const ranges = OFFERED.map(({ mediaTypes }, index) => {
          return `${mediaTypes[0]};q=0.${String(weights[index]).padStart(3, "0")}`;
        });
        const best = OFFERED[weights.indexOf(Math.max(...weights))]?.format;
        expect(chooseMediaType((isReversed ? ranges.toReversed() : ranges).join(","), OFFERED)).toBe(best);
      }),
    );
  });

  it("limits the work for a long header", () => {
    expect(chooseMediaType(`${"text/html,".repeat(100_000)}text/event-stream`, OFFERED)).toBe("json");
  });
});
