/** Tests of the indexes: runs, landmarks, and where an encoder must start reading. */
import { describe, expect, test } from "vitest";
import type { RunInfo } from "../../../src/log/log.ts";
import {
  casesOf,
  type RecordDraft,
  drafts,
  draftRun,
  expectRefusal,
  type LogStore,
  makeEntries,
  NOON,
  openWriter,
  readAll,
  sizeOf,
  textsOf,
  withLog,
} from "./log-fixture.ts";

const ENDS: readonly (readonly [about: string, ends: readonly RecordDraft[], expected: Partial<RunInfo>])[] = [
  ["is live before it ends", [], { status: "live", lastId: undefined, endedAt: undefined }],
  [
    "is live between run_end and reply",
    [drafts.end("r", "completed")],
    { status: "live", lastId: undefined, endedAt: undefined },
  ],
  [
    "is completed by its reply",
    [drafts.end("r", "completed"), drafts.reply("r")],
    { status: "completed", lastId: 4, endedAt: NOON + 4, code: undefined },
  ],
  [
    "is completed by a reply alone",
    [drafts.reply("r")],
    { status: "completed", lastId: 3, endedAt: NOON + 3, code: undefined },
  ],
  [
    "fails with its error code",
    [drafts.end("r", "error", "model_failed")],
    { status: "error", lastId: 3, endedAt: NOON + 3, code: "model_failed" },
  ],
  [
    "is cancelled",
    [drafts.end("r", "cancelled", "cancelled")],
    { status: "cancelled", lastId: 3, endedAt: NOON + 3, code: "cancelled" },
  ],
  [
    "is cancelled without a code",
    [drafts.end("r", "cancelled")],
    { status: "cancelled", lastId: 3, endedAt: NOON + 3, code: undefined },
  ],
  [
    "ends once",
    [drafts.end("r", "error", "x"), drafts.end("r", "cancelled", "y"), drafts.reply("r")],
    { status: "error", lastId: 3, endedAt: NOON + 3, code: "x" },
  ],
];

/** A string with a lone surrogate, and the well-formed string a store can keep. */
const HALF = "a\ud83d";
const WHOLE = "a\ufffd";

export function describeIndexes(store: LogStore): void {
  describe("a lone surrogate", () => {
    test("in indexed values is replaced, and the record is kept as it is", () =>
      withLog(store, async ({ log, other }) => {
        const list: readonly RecordDraft[] = [
          { event: { type: "run_start", request_id: HALF, agent: HALF }, run: "r", ts: 1 },
          drafts.checkpoint(HALF, "r"),
          drafts.todo(HALF, "r"),
          drafts.end("r", "error", HALF, 1),
        ];
        const entries = await (await openWriter(log, "s")).write(list);
        await log.createSession("t", { entries: makeEntries("t", 0, list) });
        const kept = await (await openWriter(log, "u")).write(draftRun("r", NOON));
        for (const handle of [log, other])
          for (const sessionId of ["s", "t"]) {
            const run = { requestId: WHOLE, agent: WHOLE, code: WHOLE, status: "error" };
            expect(await handle.listRuns(sessionId)).toMatchObject([run]);
            expect(await handle.getRun(sessionId, "r")).toMatchObject(run);
            for (const kind of ["checkpoint", "todo_list"] as const) {
              expect(await handle.listLandmarks(sessionId, kind)).toMatchObject([{ key: WHOLE, runId: "r" }]);
              for (const key of [HALF, WHOLE])
                expect(await handle.getLandmark(sessionId, kind, key)).toMatchObject({ key: WHOLE });
            }
          }
        expect(await readAll(other, "s")).toEqual(textsOf(entries));
        expect(await log.prune({ maxSessionBytes: sizeOf(kept) })).toEqual({
          runs: 2,
          records: 8,
          bytes: 2 * sizeOf(entries),
        });
      }));
  });

  describe("a run", () => {
    test.each(casesOf(store, ENDS))("%s", (_, ends, expected) =>
      withLog(store, async ({ log, other }) => {
        const start = [drafts.start("r"), drafts.chunk("r")];
        const run = {
          runId: "r",
          firstId: 1,
          startedAt: NOON + 1,
          requestId: "req r",
          agent: "react",
          code: undefined,
        };
        // One batch and single records give the same result.
        await (await openWriter(log, "s")).write([...start, ...ends]);
        expect(await other.getRun("s", "r")).toEqual({ ...run, ...expected });
        const writer = await openWriter(log, "t");
        for (const item of [...start, ...ends]) await writer.write([item]);
        expect(await other.getRun("t", "r")).toEqual({ ...run, ...expected });
        expect(await other.listRuns("t")).toEqual([{ ...run, ...expected }]);
      }),
    );

    test("may lack its run_start and may overlap with another", () =>
      withLog(store, async ({ log }) => {
        const writer = await openWriter(log, "s");
        await writer.write([drafts.note("none"), drafts.chunk("a"), drafts.start("b"), drafts.chunk("a")]);
        await writer.write([drafts.end("a", "error", "x"), drafts.chunk("b"), drafts.reply("b"), drafts.note("none")]);
        const [b, a, ...rest] = await log.listRuns("s");
        expect(rest).toEqual([]);
        expect(a).toMatchObject({
          runId: "a",
          firstId: 2,
          lastId: 5,
          status: "error",
          requestId: undefined,
          agent: undefined,
        });
        expect(b).toMatchObject({ runId: "b", firstId: 3, lastId: 7, status: "completed", requestId: "req b" });
      }));

    test("belongs to one session", () =>
      withLog(store, async ({ log }) => {
        await (await openWriter(log, "s")).write(draftRun("r"));
        await (await openWriter(log, "t")).write([drafts.note("x"), drafts.start("r")]);
        expect(await log.getRun("s", "r")).toMatchObject({ status: "completed", firstId: 1 });
        expect(await log.getRun("t", "r")).toMatchObject({ status: "live", firstId: 2 });
        expect(await log.getRun("t", "q")).toBeUndefined();
        await expectRefusal(log.getRun("u", "r"), "unknown_session");
        await expectRefusal(log.listRuns("u"), "unknown_session");
      }));

    test("is listed by its start, newest first, in pages", () =>
      withLog(store, async ({ log }) => {
        const writer = await openWriter(log, "s");
        const names = ["m", "a", "z", "k", "b"];
        await writer.write(names.slice(0, 2).map((name) => drafts.start(name)));
        for (const name of names.slice(2)) await writer.write([drafts.start(name)]);
        await writer.write(names.map((name) => drafts.end(name, "cancelled")));
        const list = async (options: { limit?: number; after?: string }) =>
          (await log.listRuns("s", options)).map(({ runId }) => runId);
        expect(await list({})).toEqual(["b", "k", "z", "a", "m"]);
        expect(await list({ limit: 2 })).toEqual(["b", "k"]);
        expect(await list({ limit: 2, after: "k" })).toEqual(["z", "a"]);
        expect(await list({ limit: 2, after: "a" })).toEqual(["m"]);
        expect(await list({ after: "m" })).toEqual([]);
        await expectRefusal(list({ after: "missing" }), "cursor_invalid");
      }));
  });

  describe("the fold start", () => {
    test("is after the last run that ended before the first live run started", () =>
      withLog(store, async ({ log }) => {
        const writer = await openWriter(log, "s");
        const list = [
          drafts.note("1"),
          ...draftRun("a"), // 2 to 5
          drafts.note("6"),
          drafts.start("b"), // 7
          drafts.start("c"), // 8
          drafts.reply("b"), // 9
          drafts.chunk("c"), // 10
          drafts.reply("c"), // 11
          drafts.note("12"),
          drafts.start("d"), // 13, live
          drafts.chunk("d"),
        ];
        await writer.write(list);
        const starts = await Promise.all([0, ...list.keys()].slice(1).map((id) => log.findFoldStart("s", id)));
        expect([...starts, await log.findFoldStart("s", 14)]).toEqual([
          1, // after 0
          1, // 1
          1, // 2
          1,
          1,
          6, // 5: a is over
          6, // 6
          6, // 7: b goes on
          6, // 8
          6, // 9: c goes on, and began while b did
          6, // 10
          12, // 11: all are over
          12,
          12, // 13: d goes on
          12,
        ]);
        await expectRefusal(log.findFoldStart("t", 0), "unknown_session");
      }));
  });

  describe("a landmark", () => {
    test("is the latest record of its kind and key", () =>
      withLog(store, async ({ log, other }) => {
        const writer = await openWriter(log, "s");
        await writer.write([drafts.checkpoint("a", "r"), drafts.todo("a"), drafts.checkpoint("b", "r")]);
        const first = { kind: "checkpoint", key: "a", eventId: 1, runId: "r" };
        expect(await other.getLandmark("s", "checkpoint", "a")).toEqual(first);
        expect(await other.getLandmark("s", "todo_list", "a")).toEqual({
          kind: "todo_list",
          key: "a",
          eventId: 2,
          runId: undefined,
        });
        await writer.write([
          drafts.checkpoint("c"),
          drafts.note("x"),
          drafts.checkpoint("a", "r2"),
          drafts.checkpoint("c"),
        ]);
        expect(await other.getLandmark("s", "checkpoint", "a")).toEqual({ ...first, eventId: 6, runId: "r2" });
        const ids = async (limit?: number) =>
          (await other.listLandmarks("s", "checkpoint", limit)).map(({ key, eventId }) => `${key}${eventId}`);
        expect(await ids()).toEqual(["c7", "a6", "b3"]);
        expect(await ids(2)).toEqual(["c7", "a6"]);
        expect(await other.listLandmarks("s", "todo_list")).toHaveLength(1);
      }));

    test("belongs to one session, and is undefined if there is none", () =>
      withLog(store, async ({ log }) => {
        await (await openWriter(log, "s")).write([drafts.todo("a")]);
        await log.createSession("t");
        expect(await log.getLandmark("t", "todo_list", "a")).toBeUndefined();
        expect(await log.getLandmark("s", "checkpoint", "a")).toBeUndefined();
        expect(await log.listLandmarks("t", "todo_list")).toEqual([]);
        await expectRefusal(log.getLandmark("u", "todo_list", "a"), "unknown_session");
        await expectRefusal(log.listLandmarks("u", "todo_list"), "unknown_session");
      }));
  });
}
