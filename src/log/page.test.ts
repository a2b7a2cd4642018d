import { describe, expect, test } from "vitest";
import { isLoomError, type StampedRecord } from "../protocol/index.ts";
import { createEntry } from "./entry.ts";
import { Page } from "./page.ts";

const RECORDS: readonly StampedRecord[] = [4, 5, 6].map((event_id) => ({
  envelope: { session_id: "s", run_id: "r", event_id, ts: 1.5 },
  event: { type: "message_chunk", content: `line\n\u2028${event_id}`, id: "think" },
}));
const TEXTS = RECORDS.map((record) => createEntry(record).text);

/** Returns the error of a page that cannot be parsed. */
function refusalOf(page: Page): unknown {
  try {
    return page.records;
  } catch (error) {
    return error;
  }
}

describe("a page", () => {
  test("has records and their texts", () => {
    const page = new Page("s", 3, 6, TEXTS.join("\n"));
    expect([page.isEmpty, page.length, page.texts, page.records]).toEqual([false, 3, TEXTS, RECORDS]);
  });

  test("is parsed once for all readers", () => {
    const page = new Page("s", 3, 6, TEXTS.join("\n"));
    expect(page.records).toBe(page.records);
  });

  test("may be empty, at any position", () => {
    for (const after of [0, 3, Number.MAX_SAFE_INTEGER]) {
      const page = new Page("s", after, after, "");
      expect([page.isEmpty, page.length, page.texts, page.records]).toEqual([true, 0, [], []]);
    }
  });

  test("keeps nothing if it is empty", () => {
    expect(new Page("s", 3, 3, "").records).toBe(new Page("t", 7, 7, []).records);
  });

  test("may have a record without a run or of an unknown type", () => {
    const record = { envelope: { session_id: "s", event_id: 1 }, event: { type: "from_tomorrow", n: 1 } };
    expect(new Page("s", 0, 1, createEntry(record).text).records).toEqual([record]);
  });

  test.each([
    ["invalid JSON", [TEXTS[0]!, "{", TEXTS[2]!]],
    ["a truncated text", [TEXTS[0]!, TEXTS[1]!.slice(0, -1), TEXTS[2]!]],
    ["an empty text", [TEXTS[0]!, "", TEXTS[2]!]],
    ["JSON that is not a frame", [TEXTS[0]!, "[]", TEXTS[2]!]],
    ["a frame with an invalid field", [TEXTS[0]!, TEXTS[1]!.replace('"think"', "7"), TEXTS[2]!]],
    ["a duplicate record", [TEXTS[0]!, TEXTS[0]!, TEXTS[2]!]],
    ["records out of order", [TEXTS[0]!, TEXTS[2]!, TEXTS[1]!]],
    ["a record of another session", [TEXTS[0]!, TEXTS[1]!.replace('"s"', '"t"'), TEXTS[2]!]],
  ])("rejects %s and reports the record", (_, texts) => {
    const refusal = refusalOf(new Page("s", 3, 6, texts.join("\n")));
    if (!isLoomError(refusal, "store_corrupt")) throw new Error("expected store_corrupt", { cause: refusal });
    expect(refusal.details).toEqual({ session_id: "s", event_id: 5 });
  });

  test.each([
    ["fewer texts than ids", TEXTS.slice(0, 2)],
    ["more texts than ids", [...TEXTS, TEXTS[2]!.replace('"event_id":6', '"event_id":7')]],
  ])("refuses %s", (_, texts) => {
    expect(isLoomError(refusalOf(new Page("s", 3, 6, texts.join("\n"))), "store_corrupt")).toBe(true);
  });
});
