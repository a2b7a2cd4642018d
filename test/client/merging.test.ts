/**
 * However the frames of a session come, in whatever batches, from however many sources, again and again: what is shown
 * in the end is the same.
 */
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
  it("makes the same view in one go as in any batches", () => {
    fc.assert(
      fc.property(sessionArbitrary, fc.array(fc.boolean(), { maxLength: 20 }), (records, reads) => {
        const atOnce = receiveRecords(records, () => false);
        expect(receiveRecords(records, (index) => reads[index % Math.max(reads.length, 1)] ?? true)).toEqual(atOnce);
      }),
      { numRuns },
    );
  });

  it("makes the same view of records as of their frames", () => {
    fc.assert(
      fc.property(mixedSessionArbitrary, (records) => {
        // Right after a run_start a frame that names no run may be of that run: some wires name it there alone.
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

  it("never changes a view it has given, and keeps what did not change", () => {
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
  it.each(["loom", "engine"] as const)("%s: two sources at once, each at its own pace, are one stream", (dialect) => {
    fc.assert(
      fc.property(sessionArbitrary, fc.array(fc.boolean(), { maxLength: 40 }), (records, turns) => {
        const texts = encodeRecords(records, dialect);
        const receiver = createReceiver();
        const sources = [receiver.open({ dialect }), receiver.open({ dialect })] as const;
        const places = [0, 0];
        for (const turn of turns) {
          const who = turn ? 1 : 0;
          const text = texts[places[who] as number];
          if (text !== undefined) sources[who].push(text);
          places[who] = (places[who] as number) + 1;
        }
        for (const [who, source] of sources.entries()) {
          for (const text of texts.slice(places[who])) source.push(text);
          source.end();
        }
        expect(receiver.getSnapshot().sessions).toEqual(receive(texts, { dialect }));
      }),
      { numRuns },
    );
  });

  it.each(["loom", "engine"] as const)("%s: a replay over what is there changes nothing", (dialect) => {
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

  it("lets nobody merge frames without numbers, and says so", () => {
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

  it("refuses a session in a second dialect, and keeps the first", () => {
    const receiver = createReceiver();
    const [one, other] = [receiver.open({ dialect: "loom" }), receiver.open({ dialect: "engine" })];
    for (const text of framesOf("react-tools", "loom")) one.push(text);
    for (const text of framesOf("react-tools", "engine")) other.push(text);
    const [session] = receiver.getSnapshot().sessions;
    expect(session?.issues).toMatchObject([{ rule: "dialect_mismatch" }]);
    expect(contentOf([session as never])).toEqual(contentOf(receive(framesOf("react-tools", "loom"))));
  });

  it.each(DIALECT_NAMES)("finds the dialect %s by itself", (dialect) => {
    for (const run of CONTIGUOUS_RUNS) {
      const texts = framesOf(run, dialect);
      expect(receive(texts), run).toEqual(receive(texts, { dialect }));
    }
  });

  it("keeps many sessions apart that come on one source", () => {
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
  it("are told once for many changes, of their own session, and see one state until they are told again", async () => {
    const receiver = createReceiver({ notify: { everyMs: 1 } });
    const told = { all: 0, own: 0, other: 0 };
    receiver.subscribe(() => told.all++);
    const store = receiver.session("sess-kyoto");
    store.subscribe(() => told.own++);
    receiver.session("another").subscribe(() => told.other++);
    const source = receiver.open();
    const before = store.getSnapshot();
    for (const text of framesOf("react-tools", "loom")) source.push(text);
    expect(store.getSnapshot()).toBe(before);
    receiver.flush();
    expect(told).toEqual({ all: 1, own: 1, other: 0 });
    expect(store.getSnapshot()?.turns.length).toBe(1);
    source.end(); // The run was over: nothing changes, and nobody is told.
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(told).toEqual({ all: 1, own: 1, other: 0 });
    receiver.drop("sess-kyoto");
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(told).toEqual({ all: 2, own: 2, other: 0 });
    expect(store.getSnapshot()).toBeUndefined();
  });

  it("do not keep each other from being told", () => {
    const errors: unknown[] = [];
    const later = vi.spyOn(globalThis, "queueMicrotask").mockImplementation((run) => {
      try {
        run();
      } catch (error) {
        errors.push(error);
      }
    });
    const receiver = createReceiver({ notify: "sync" });
    let told = 0;
    receiver.subscribe(() => {
      throw new Error("mine");
    });
    receiver.subscribe(() => told++);
    receiver.open().push(framesOf("react-tools", "loom")[0] as string);
    later.mockRestore();
    expect(told).toBeGreaterThan(0);
    expect(errors.length).toBe(told);
  });
});
