/** Streams of selected event kinds, end to end: nothing that was requested is missing. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { connect, createLoomReceiver, createReceiver, type TurnView } from "../../src/client/index.ts";
import { createStreamCheck, DIALECTS } from "../../src/dialects/index.ts";
import { exportSession, type Log, MemoryLog, openStream } from "../../src/log/index.ts";
import { RunStates } from "../../src/protocol/run-states.ts";
import { STREAM_MODES, type StreamMode, type StreamModes } from "../../src/protocol/stream-modes.ts";
import { gather, makeGraphRun, makeRun, statefulSessionArbitrary, writeRecords } from "../log-sessions.ts";
import { LONG, sampleCases, STATE_SAMPLES } from "../sampling.ts";
import { TRANSPORT_FIXTURES } from "./transport-fixtures.ts";

const STATE = { list: ["item 1", "item 2", "item 3"], n: 3 };

async function writeGraphRuns(log: Log): Promise<void> {
  const first = makeGraphRun("run-1");
  await writeRecords(log, [...first, ...makeGraphRun("run-2", { after: first.length })], 7);
}

/** Returns the session a receiver creates from these frames. */
function receiveTexts(texts: readonly string[]) {
  const receiver = createLoomReceiver();
  const source = receiver.open();
  for (const text of texts) source.push(text);
  source.end();
  const [session] = receiver.getSnapshot().sessions;
  return session;
}

async function readTexts(log: Log, modes: StreamModes | undefined): Promise<string[]> {
  return (await gather(openStream(log, "s", { dialect: "loom", modes }))).flat().map(({ text }) => text);
}

function statesOf({ nodes, values, checkpoints }: TurnView) {
  return { nodes, values, checkpoints };
}

/** The transport that receives a state larger than a frame in the short run. */
const LARGE_STATES = sampleCases(["WebSocket", "fetch ndjson, over HTTP"]);
/** The short run uses the other transports in transports.test.ts and connections.test.ts. */
const FIXTURES = TRANSPORT_FIXTURES.filter(({ name }) => LONG || /^(?:WebSocket|fetch ndjson, over HTTP)$/.test(name));

describe.each(FIXTURES)("$name", ({ name, createFixture }) => {
  it.each<[string, StreamModes | undefined, object]>([
    ["everything but states", undefined, { text: "1 2 3 ", nodes: 3, values: undefined, checkpoints: 0 }],
    ["all", "all", { text: "1 2 3 ", nodes: 3, values: STATE, checkpoints: 4 }],
    ["values", ["values"], { text: "1 2 3 ", nodes: 0, values: STATE, checkpoints: 0 }],
    ["nodes and updates", ["nodes", "updates"], { text: "1 2 3 ", nodes: 3, values: undefined, checkpoints: 0 }],
    ["no modes", [], { text: "1 2 3 ", nodes: 0, values: undefined, checkpoints: 0 }],
  ])("%s: is complete and verified, with the requested events", async (_what, modes, expected) => {
    const fixture = await createFixture();
    await writeGraphRuns(fixture.log);
    const receiver = createLoomReceiver();
    const { transport } = fixture;
    const { done } = connect(receiver, {
      transport,
      session: "s",
      follow: false,
      ...(modes === undefined ? {} : { modes }),
    });
    expect(await done).toMatchObject({ status: "complete", verified: true });
    const [session] = receiver.getSnapshot().sessions;
    expect(session?.issues).toEqual([]);
    for (const { messages, nodes, values, checkpoints } of session?.turns ?? [])
      expect({
        text: messages.at(-1)?.mainContent,
        nodes: nodes.length,
        values,
        checkpoints: checkpoints.length,
      }).toEqual(expected);
    expect(session?.turns).toHaveLength(2);
    await fixture.close();
  });

  it("delivers long and many states", async () => {
    const fixture = await createFixture();
    // 50 KB are stored, and 10 MB sent, or 25 MB in the long run.
    await writeRecords(fixture.log, makeGraphRun("run-1", { steps: STATE_SAMPLES.count, list: ["x".repeat(50_000)] }));
    const receiver = createLoomReceiver();
    const { transport } = fixture;
    const { done } = connect(receiver, { transport, session: "s", follow: false, modes: ["values"] });
    expect(await done).toMatchObject({ status: "complete", verified: true });
    expect(receiver.getSnapshot().sessions[0]?.turns[0]?.values).toMatchObject({ n: STATE_SAMPLES.count });
    await fixture.close();
  });

  const isTried = STATE_SAMPLES.isWhole || LARGE_STATES.includes(name);
  it.runIf(isTried)(
    "fails with `frame_too_long` at a state beyond the frame limit, after everything before it",
    async () => {
      const fixture = await createFixture();
      await writeRecords(fixture.log, makeGraphRun("run-1", { steps: 12, padding: "x".repeat(900_000) }), 1);
      const receiver = createLoomReceiver();
      const { transport } = fixture;
      const { done } = connect(receiver, { transport, session: "s", modes: ["values"] });
      expect(await done).toMatchObject({ status: "failed", reason: { code: "frame_too_long" } });
      const [session] = receiver.getSnapshot().sessions;
      expect(session?.issues).toEqual([]);
      expect(session?.turns[0]?.values).toMatchObject({ n: 9 });
      await fixture.close();
    },
  );

  it("refuses an unknown mode", async () => {
    const fixture = await createFixture();
    await writeRecords(fixture.log, makeRun("run-1"));
    const { transport } = fixture;
    const modes = ["values", "everything"] as unknown as StreamMode[];
    const { done } = connect(createLoomReceiver(), { transport, session: "s", modes });
    expect(await done).toMatchObject({
      status: "failed",
      reason: { code: "invalid_name", message: expect.stringContaining('"everything"') as string },
    });
    await fixture.close();
  });
});

describe("a filtered stream", () => {
  const chosen = fc.option(fc.subarray([...STREAM_MODES]), { nil: undefined });

  it("violates no rule", async () => {
    const log = new MemoryLog();
    await writeGraphRuns(log);
    await fc.assert(
      fc.asyncProperty(chosen, async (modes) => {
        const check = createStreamCheck(DIALECTS.loom);
        const texts = await readTexts(log, modes);
        expect([...texts.flatMap((text) => check.check(text).issues), ...check.end()]).toEqual([]);
      }),
    );
  });

  it.each([
    ["export", { dialect: "export" }],
    ["loom without an envelope", { dialect: "loom", encoderOptions: { envelope: false } }],
  ] as const)("as %s, without stated predecessors, counts the sent frames", async (_name, form) => {
    const log = new MemoryLog();
    await writeGraphRuns(log);
    await fc.assert(
      fc.asyncProperty(chosen, async (modes) => {
        const frames = (await gather(openStream(log, "s", { ...form, modes }))).flat();
        const check = createStreamCheck(DIALECTS[form.dialect]);
        const issues = [...frames.flatMap(({ text }) => check.check(text).issues), ...check.end()];
        expect(issues.filter(({ rule }) => rule !== "envelope-missing")).toEqual([]);
        const receiver = createReceiver();
        const source = receiver.open({ dialect: form.dialect });
        for (const { text } of frames) source.push(text);
        source.end();
        expect(receiver.getSnapshot().sessions[0]?.state).toMatchObject({ status: "complete" });
        // A frame left out by mistake is noticed.
        const lossy = createStreamCheck(DIALECTS[form.dialect]);
        const left = frames.toSpliced(1, 1);
        const found = left.flatMap(({ text }) => lossy.check(text).issues);
        if (modes?.includes("messages") === true) expect(found.some(({ rule }) => rule === "run-end-proof")).toBe(true);
      }),
    );
  });

  it("is reordered with duplicates; without a frame it is a gap", async () => {
    const log = new MemoryLog();
    await writeGraphRuns(log);
    await fc.assert(
      fc.asyncProperty(chosen, fc.nat(), fc.nat(), async (modes, a, b) => {
        const texts = await readTexts(log, modes);
        const moved = texts.toSpliced(1 + (a % (texts.length - 1)), 1);
        expect(receiveTexts(moved)?.state.status).not.toBe("complete");
        const at = a % texts.length;
        const again = texts.toSpliced(b % texts.length, 0, texts[at] as string);
        expect(receiveTexts(again)?.state).toMatchObject({ status: "complete", verified: true });
      }),
    );
  });
});

describe("a session received filtered and in full", () => {
  it("is complete, in either order", async () => {
    const log = new MemoryLog();
    const records = makeGraphRun("run-1", { steps: 400 });
    await writeRecords(log, records);
    const [part, whole] = [await readTexts(log, undefined), await readTexts(log, "all")];
    for (const [first, second] of [
      [part, whole],
      [whole, part],
    ] as const) {
      const receiver = createLoomReceiver();
      const sources = [receiver.open(), receiver.open()] as const;
      const width = Math.ceil(whole.length / 3);
      for (let at = 0; at < whole.length; at += width) {
        for (const text of first.slice(at, at + width)) sources[0].push(text);
        for (const text of second.slice(at, at + width)) sources[1].push(text);
      }
      for (const source of sources) source.end();
      expect(receiver.getSnapshot().sessions[0]?.state).toMatchObject({ status: "complete" });
    }
  });
});

describe("a receiver of deltas", () => {
  it("shows the same as one that receives full states", async () => {
    await fc.assert(
      fc.asyncProperty(statefulSessionArbitrary, async (all) => {
        const log = new MemoryLog();
        const states = new RunStates();
        const based = all.filter((record) => states.add(record));
        await writeRecords(
          log,
          based.map((record, index) => ({ ...record, envelope: { ...record.envelope, event_id: index + 1 } })),
        );
        const held = (await gather(exportSession(log, "s"))).join("").trimEnd().split("\n");
        const views = [held, await readTexts(log, "all")].map((texts) => receiveTexts(texts)?.turns.map(statesOf));
        expect(views[0]).toEqual(views[1]);
      }),
      { numRuns: LONG ? 2000 : 20 },
    );
  });

  it("shows no state whose base is unknown", async () => {
    const log = new MemoryLog();
    await writeRecords(log, makeGraphRun("run-1", { steps: 3 }));
    const held = (await gather(exportSession(log, "s"))).join("").trimEnd().split("\n");
    const unbased = held.filter((text) => !text.endsWith('"delta":false}'));
    expect(unbased.length).toBeLessThan(held.length);
    const [shown, lacking] = [held, unbased].map((texts) => receiveTexts(texts)?.turns[0]);
    expect([shown?.values === undefined, shown?.omitted]).toEqual([false, 0]);
    expect([lacking?.values, lacking?.omitted]).toEqual([undefined, 3]);
  });

  it.runIf(LONG)("shows the last state of a long run, and limits the states of its steps", () => {
    const records = makeGraphRun("run-1", { steps: 3000 });
    const receiver = createLoomReceiver();
    const source = receiver.open();
    for (const { envelope, event } of records)
      source.push(
        JSON.stringify({ ...envelope, ...(event.type === "reply" ? { reply: event["reply" as never] } : event) }),
      );
    const [turn] = receiver.getSnapshot().sessions[0]?.turns ?? [];
    expect(turn?.values).toHaveProperty("list.length", 3000);
    expect(turn?.nodes[100]?.updates).toHaveProperty("list.length", 101);
    // The lists of all steps would have 4.5 million entries, which exceeds the limit.
    expect(turn?.nodes.at(-1)?.updates).toBeUndefined();
    expect(turn?.omitted).toBeGreaterThan(0);
  });
});
