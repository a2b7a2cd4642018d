import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { chooseMediaType, type OfferedForm } from "./choose-media-type.ts";

const OFFERED: readonly [OfferedForm<string>, ...OfferedForm<string>[]] = [
  { form: "json", mediaTypes: ["application/json"] },
  { form: "sse", mediaTypes: ["text/event-stream"] },
  { form: "ndjson", mediaTypes: ["application/x-ndjson", "application/jsonl"] },
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
    // The more exact one is meant more.
    ["*/*, text/event-stream", "sse"],
    ["application/*, application/x-ndjson", "ndjson"],
    // Weights.
    ["text/event-stream;q=0.5, application/x-ndjson;q=0.9", "ndjson"],
    ["application/json;q=0.1, */*;q=0.2", "sse"],
    ["text/event-stream;q=0, */*;q=0.1", "json"],
    ["application/json;q=0, text/event-stream ; q=0.001", "sse"],
    // Alike in everything: the first that was named.
    ["application/x-ndjson, text/event-stream", "ndjson"],
    ["text/event-stream, application/x-ndjson", "sse"],
    // What cannot be read, or had, is as if nothing were said.
    ["text/html", "json"],
    ["nonsense, text/event-stream", "sse"],
    ["*/json", "json"],
    ["text/event-stream;q=2, application/x-ndjson", "ndjson"],
    ["application/*;q=0, text/html", "json"],
  ])("%s gives %s", (accept, form) => {
    expect(chooseMediaType(accept, OFFERED)).toBe(form);
  });

  it("gives one of the forms whatever is sent, and what alone has the highest weight", () => {
    const forms = OFFERED.map(({ form }) => form);
    fc.assert(fc.property(fc.string(), (accept) => forms.includes(chooseMediaType(accept, OFFERED))));
    const weight = fc.integer({ min: 1, max: 999 });
    fc.assert(
      fc.property(fc.uniqueArray(weight, { minLength: 3, maxLength: 3 }), fc.boolean(), (weights, isReversed) => {
        const ranges = OFFERED.map(({ mediaTypes }, index) => {
          return `${mediaTypes[0]};q=0.${String(weights[index]).padStart(3, "0")}`;
        });
        const best = OFFERED[weights.indexOf(Math.max(...weights))]?.form;
        expect(chooseMediaType((isReversed ? ranges.toReversed() : ranges).join(","), OFFERED)).toBe(best);
      }),
    );
  });

  it("costs no more than it must for a long header", () => {
    expect(chooseMediaType(`${"text/html,".repeat(100_000)}text/event-stream`, OFFERED)).toBe("json");
  });
});
