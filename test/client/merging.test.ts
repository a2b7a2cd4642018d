/** The final view does not depend on batches, the number of sources, or repeated frames. */
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { createReceiver } from "../../src/client/index.ts";
import { DIALECT_NAMES } from "../../src/dialects/index.ts";
import type { StampedRecord } from "../../src/protocol/index.ts";
import { mixedSessionArbitrary } from "../log-sessions.ts";
import { sessionArbitrary } from "../run-arbitrary.ts";
import { SAMPLES } from "../sampling.ts";
import { CONTIGUOUS_RUNS, contentOf, encodeRecords, framesOf, receive } from "./streams.ts";

const numRuns = SAMPLES.sessions;

function receiveRecords(records: readonly StampedRecord[], isRead: (index: number) => boolean) {
  const receiver = createReceiver();
  const source = receiver.open();
  for (const [index, record] of records.entries()) {
    source.pushRecord(record);
    if (isRead(index)) receiver.getSnapshot();
  }
  source.end();
  return receiver.getSnapshot().sessions;
}

describe("batches", () => {
  it("create the same view as all records at once", () => {
    fc.assert(
      fc.property(sessionArbitrary, fc.array(fc.boolean(), { maxLength: 20 }), (records, reads) => {
        const atOnce = receiveRecords(records, () => false);
        expect(receiveRecords(records, (index) => reads[index % Math.max(reads.length, 1)] ?? true)).toEqual(atOnce);
      }),
      { numRuns },
    );
  });

  it("create the same view from records as from their frames", () => {
    fc.assert(
      fc.property(mixedSessionArbitrary, (records) => {
        // Right after a run_start, a frame without a run ID may belong to that run in some dialects.
        fc.pre(
          !records.some(({ envelope }, index) => !envelope.run_id && records[index - 1]?.event.type === "run_start"),
        );
        expect(receive(encodeRecords(records, "loom"), { dialect: "loom" })).toEqual(
          receiveRecords(records, () => false),
        );
      }),
      { numRuns },
    );
  });

  it("never change a returned view, and keep unchanged parts", () => {
    fc.assert(
      fc.property(sessionArbitrary, (records) => {
        const receiver = createReceiver();
        const source = receiver.open();
        const given: [view: object, text: string][] = [];
        for (const record of records) {
          const before = receiver.getSnapshot();
          source.pushRecord(record);
          const after = receiver.getSnapshot();
          given.push([after, JSON.stringify(after)]);
          for (const [index, turn] of (before.sessions[0]?.turns ?? []).entries()) {
            const now = after.sessions[0]?.turns[index];
            if (turn.runId !== record.envelope.run_id) expect(now).toBe(turn);
            else if (now?.messages[0]?.role === "user")
              expect(now.messages[0]).toBe(turn.messages[0] ?? now.messages[0]);
          }
        }
        for (const [view, text] of given) expect(JSON.stringify(view)).toBe(text);
      }),
      { numRuns: numRuns / 5 },
    );
  });
});

describe("sources", () => {
  it.each(["loom", "engine"] as const)("%s: merges two sources, each at its own pace", (dialect) => {
    fc.assert(
      fc.property(sessionArbitrary, fc.array(fc.boolean(), { maxLength: 40 }), (records, turns) => {
        const texts = encodeRecords(records, dialect);
        const receiver = createReceiver();
        const sources = [receiver.open({ dialect }), receiver.open({ dialect })] as const;
        const positions = [0, 0];
        for (const turn of turns) {
          const who = turn ? 1 : 0;
          const text = texts[positions[who] as number];
          if (text !== undefined) sources[who].push(text);
          positions[who] = (positions[who] as number) + 1;
        }
        for (const [who, source] of sources.entries()) {
          for (const text of texts.slice(positions[who])) source.push(text);
          source.end();
        }
        expect(receiver.getSnapshot().sessions).toEqual(receive(texts, { dialect }));
      }),
      { numRuns },
    );
  });

  it.each(["loom", "engine"] as const)("%s: ignores a replay", (dialect) => {
    fc.assert(
      fc.property(sessionArbitrary, fc.nat(), fc.nat(), (records, a, b) => {
        const texts = encodeRecords(records, dialect);
        const [from, to] = [a % (texts.length + 1), b % (texts.length + 1)].sort((x, y) => x - y);
        const sent = [...texts.slice(0, to), ...texts.slice(from, to), ...texts.slice(to)];
        expect(receive(sent, { dialect })).toEqual(receive(texts, { dialect }));
      }),
      { numRuns },
    );
  });

  it("do not merge frames without numbers, and report it", () => {
    const texts = framesOf("react-tools", "lumine");
    const receiver = createReceiver();
    const [one, other] = [receiver.open({ dialect: "lumine" }), receiver.open({ dialect: "lumine" })];
    for (const text of texts) {
      one.push(text);
      other.push(text);
    }
    const [session] = receiver.getSnapshot().sessions;
    expect(session?.state).toMatchObject({ status: "gap", reason: { code: "cannot_merge" }, verified: false });
    expect(session?.turns).toEqual(receive(texts, { dialect: "lumine" })[0]?.turns);
  });

  it("refuse a session in a second dialect, and keep the first", () => {
    const receiver = createReceiver();
    const [one, other] = [receiver.open({ dialect: "loom" }), receiver.open({ dialect: "engine" })];
    for (const text of framesOf("react-tools", "loom")) one.push(text);
    for (const text of framesOf("react-tools", "engine")) other.push(text);
    const [session] = receiver.getSnapshot().sessions;
    expect(session?.issues).toMatchObject([{ rule: "dialect_mismatch" }]);
    expect(contentOf([session as never])).toEqual(contentOf(receive(framesOf("react-tools", "loom"))));
  });

  it.each(DIALECT_NAMES)("detect the dialect %s", (dialect) => {
    for (const run of CONTIGUOUS_RUNS) {
      const texts = framesOf(run, dialect);
      expect(receive(texts), run).toEqual(receive(texts, { dialect }));
    }
  });

  it("separate many sessions of one source", () => {
    fc.assert(
      fc.property(
        fc.array(sessionArbitrary, { minLength: 1, maxLength: 4 }),
        fc.infiniteStream(fc.nat()),
        (all, dice) => {
          const streams = all.map((records, index) =>
            records.map(({ envelope, event }) => ({ envelope: { ...envelope, session_id: `s${index}` }, event })),
          );
          const left = streams.map((records) => encodeRecords(records, "loom"));
          const mixed: string[] = [];
          for (const roll of dice) {
            const open = left.filter((texts) => texts.length > 0);
            const texts = open[roll % Math.max(open.length, 1)];
            if (texts === undefined) break;
            mixed.push(texts.shift() as string);
          }
          const found = [...receive(mixed)].sort((a, b) => a.id.localeCompare(b.id));
          expect(found).toEqual(streams.flatMap((records) => receive(encodeRecords(records, "loom"))));
        },
      ),
      { numRuns: numRuns / 5 },
    );
  });
});

describe("listeners", () => {
  it("are notified once for many changes, and only of their session", async () => {
    const receiver = createReceiver({ notify: { everyMs: 1 } });
    const calls = { all: 0, own: 0, other: 0 };
    receiver.subscribe(() => calls.all++);
    const store = receiver.session("sess-kyoto");
    store.subscribe(() => calls.own++);
    receiver.session("another").subscribe(() => calls.other++);
    const source = receiver.open();
    const before = store.getSnapshot();
    for (const text of framesOf("react-tools", "loom")) source.push(text);
    expect(store.getSnapshot()).toBe(before);
    receiver.flush();
    expect(calls).toEqual({ all: 1, own: 1, other: 0 });
    expect(store.getSnapshot()?.turns.length).toBe(1);
    source.end(); // The run had ended, so nothing changes.
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(calls).toEqual({ all: 1, own: 1, other: 0 });
    receiver.drop("sess-kyoto");
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(calls).toEqual({ all: 2, own: 2, other: 0 });
    expect(store.getSnapshot()).toBeUndefined();
  });

  it("are notified even if another one throws", () => {
    const errors: unknown[] = [];
    const later = vi.spyOn(globalThis, "queueMicrotask").mockImplementation((run) => {
      try {
        run();
      } catch (error) {
        errors.push(error);
      }
    });
    const receiver = createReceiver({ notify: "sync" });
    let calls = 0;
    receiver.subscribe(() => {
      throw new Error("mine");
    });
    receiver.subscribe(() => calls++);
    receiver.open().push(framesOf("react-tools", "loom")[0] as string);
    later.mockRestore();
    expect(calls).toBeGreaterThan(0);
    expect(errors.length).toBe(calls);
  });
});
