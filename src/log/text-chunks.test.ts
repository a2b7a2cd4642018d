import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createRecordReader } from "../dialects/loom/decode.ts";
import type { StampedRecord } from "../protocol/index.ts";
import { createEntry } from "./entry.ts";
import { TextChunkReader } from "./text-chunks.ts";

const parse = createRecordReader();

function chunk(content: string, more: object = {}, envelope: object = {}): StampedRecord {
  return {
    envelope: { session_id: "s", run_id: "r", node_id: "n", event_id: 7, ts: 1000, ...envelope },
    event: { type: "message_chunk", content, id: "think", ...more },
  };
}

/** Reads a text with a reader that knows the frame of another record. */
function readAfter(known: StampedRecord, text: string, id: number): StampedRecord | undefined {
  const reader = new TextChunkReader();
  reader.learn(createEntry(known).text, known);
  return reader.read(text, id);
}

describe("a text chunk reader", () => {
  test("reads a frame that differs in ID, time and content", () => {
    const next = chunk(" wörld 你好", {}, { event_id: 8, ts: 1001 });
    expect(readAfter(chunk("Hello"), createEntry(next).text, 8)).toEqual(next);
  });

  test("knows nothing before the first frame", () => {
    expect(new TextChunkReader().read(createEntry(chunk("a")).text, 7)).toBeUndefined();
  });

  test.each<readonly [string, string]>([
    ["another ID", createEntry(chunk("a", {}, { event_id: 9 })).text],
    ["another node run", createEntry(chunk("a", {}, { node_id: "m", event_id: 8 })).text],
    ["another channel", createEntry(chunk("a", { channel: "thought" }, { event_id: 8 })).text],
    ["escapes", createEntry(chunk('say "a"\n', {}, { event_id: 8 })).text],
    ["a fraction of a millisecond", createEntry(chunk("a", {}, { event_id: 8, ts: 1000.5 })).text],
    ["a time JSON refuses", createEntry(chunk("a", {}, { event_id: 8 })).text.replace(":1000,", ":0100,")],
    ["a control character", createEntry(chunk("a", {}, { event_id: 8 })).text.replace('"a"', '"\u0001"')],
    ["a second content", createEntry(chunk("a", {}, { event_id: 8 })).text.replace('"a"', '"a","content":"b"')],
    ["a cut end", createEntry(chunk("a", {}, { event_id: 8 })).text.slice(0, -1)],
    ["no text", ""],
  ])("leaves a frame with %s to the parser", (_, text) => {
    expect(readAfter(chunk("Hello"), text, 8)).toBeUndefined();
  });

  test("agrees with the parser about any frames", () => {
    const part = fc.constantFrom(
      "",
      "a",
      '"',
      "\\",
      "\n",
      "é",
      "你",
      "\ud800",
      '","id":"think"}',
      '"content":"',
      "word ",
    );
    const content = fc.array(part, { maxLength: 4 }).map((parts) => parts.join(""));
    const more = fc.constantFrom({}, { channel: "thought" }, { id: "other" });
    const node = fc.constantFrom("n", "m", undefined);
    const ts = fc.constantFrom(0, 7, 1000, 1000.5, 1_760_000_000_000);
    let fast = 0;
    fc.assert(
      fc.property(fc.array(fc.record({ content, more, node, ts }), { minLength: 2, maxLength: 12 }), (all) => {
        const reader = new TextChunkReader();
        for (const [index, { content: said, more: fields, node: node_id, ts: time }] of all.entries()) {
          const event_id = index + 1;
          const envelope = node_id === undefined ? { event_id, ts: time } : { node_id, event_id, ts: time };
          const given = chunk(said, fields, envelope);
          const { text } = createEntry(given);
          const parsed = parse(text) as StampedRecord;
          const read = reader.read(text, event_id);
          if (read === undefined) reader.learn(text, parsed);
          else {
            fast++;
            expect(read).toEqual(parsed);
          }
        }
      }),
    );
    expect(fast).toBeGreaterThan(0);
  });
});
