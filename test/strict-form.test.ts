/**
 * The strict form, checked with the tables of specification 001 alone: only the 23 types, each with every field that §4.2
 * does not mark optional and no field beyond §2, §4.2 and §5, and a reply at the end of every run, however it ended.
 */
import { describe, expect, test } from "vitest";
import { createStreamCheck, DIALECTS } from "../src/dialects/index.ts";
import { MemoryLog, openStream } from "../src/log/index.ts";
import { createEventsHandler } from "../src/server/index.ts";
import { agent, type AgentOptions } from "../src/agents/index.ts";
import type { StampedRecord } from "../src/protocol/index.ts";
import { ScriptedModel } from "../src/models/testing.ts";
import { createBuiltinTools } from "../src/tools/index.ts";
import { gather, makeGraphRun, writeRecords } from "./log-sessions.ts";
import { receive } from "./client/streams.ts";
import { EVENTS_OF_001, findDifference, KEYS_OF_001, readTable } from "./specification-tables.ts";
import { listVectorFiles, readVector } from "./vectors.ts";

interface Frame {
  readonly [name: string]: unknown;
}

/** Counts the runs, each of which must end with a reply. */
function countRuns(frames: readonly Frame[]): number {
  let runs = 0;
  let isOpen = false;
  for (const frame of frames) {
    if (frame["type"] === "run_start" || "RunStart" in frame) {
      expect(isOpen).toBe(false);
      isOpen = true;
      runs++;
    }
    if (typeof frame["reply"] === "string") isOpen = false;
  }
  expect(isOpen).toBe(false);
  return runs;
}

const ENVELOPE = ["session_id", "node_id", "event_id"];

/** A closed schema: the fields of §2, and those of §4.2 or §5 with their kinds. */
function expectSpecified(frame: Frame): void {
  const type = frame["type"] as string | undefined;
  const table = type === undefined ? "reply: string" : EVENTS_OF_001[type];
  expect(table, type).toBeDefined();
  expect(findDifference(table ?? "", frame)).toBeUndefined();
  const known = ["type", ...ENVELOPE, ...readTable(table ?? "").map(({ name }) => name)];
  expect(
    Object.keys(frame).filter((name) => !known.includes(name)),
    type,
  ).toEqual([]);
}

const parse = (texts: readonly string[]): Frame[] => texts.map((text) => JSON.parse(text) as Frame);

/** Vectors of runs in one session that do not overlap. */
const RUNS = listVectorFiles("runs")
  .map(readVector)
  .filter(({ name }) => name !== "interleaved-runs" && name !== "runs-without-name");

describe("the strict form", () => {
  test.each(RUNS.map((vector) => [vector.name, vector] as const))(
    "of %s has only what 001 defines",
    (_name, vector) => {
      const records = vector.records
        .flat()
        .filter(({ envelope }) => envelope.event_id !== undefined) as StampedRecord[];
      const encoder = DIALECTS.loom.createEncoder({ strict: true });
      const frames = parse(records.flatMap((record) => encoder.encode(record)));
      for (const frame of frames) expectSpecified(frame);
      const keys = new Set(Object.values(KEYS_OF_001));
      const exporter = DIALECTS.export.createEncoder({ strict: true });
      const exported = parse(records.flatMap((record) => exporter.encode(record)));
      for (const frame of exported)
        if (typeof frame["reply"] !== "string") expect(keys).toContain(Object.keys(frame).join());
      expect(countRuns(exported)).toBe(countRuns(frames));
    },
  );

  test("adds the thread and the namespace to a checkpoint of another sender", () => {
    const event = {
      type: "checkpoint",
      checkpoint_id: "c",
      timestamp: "2025-01-01T00:00:00Z",
      step: 0,
      state: {},
    } as const;
    const record: StampedRecord = { envelope: { session_id: "s", event_id: 1 }, event };
    const expected = { thread_id: "s", checkpoint_ns: "" };
    const encode = (dialect: "loom" | "export") => DIALECTS[dialect].createEncoder({ strict: true }).encode(record);
    expect(parse(encode("loom"))).toMatchObject([expected]);
    expect(parse(encode("export"))).toMatchObject([{ Checkpoint: expected }]);
  });

  test("ends a failed and a cancelled run with the text that was produced", () => {
    const encoder = DIALECTS.loom.createEncoder({ strict: true });
    const records = RUNS.filter(({ name }) => name === "cancel").flatMap((vector) => vector.records.flat());
    const frames = parse((records as StampedRecord[]).flatMap((record) => encoder.encode(record)));
    const ends = frames.flatMap((frame, index) => {
      const { $loom, status } = (frame["value"] ?? {}) as Frame;
      return $loom === "run_end" && status !== "completed" ? [frames[index + 1]] : [];
    });
    expect(ends.length).toBeGreaterThan(1);
    for (const end of ends) {
      expect(end).not.toHaveProperty("event_id");
      const { reply, node_id } = end as { readonly reply: string; readonly node_id?: string };
      expect(reply === "").toBe(node_id === undefined);
    }
    expect(ends.some((end) => end?.["reply"] !== "")).toBe(true);
  });
});

describe("the strict form of live runs", () => {
  const AGENTS: { readonly [name: string]: [options: AgentOptions, question: string] } = {
    react: [{}, "What is 17 * 23?"],
    tot: [{ kind: "tot" }, "Game of 24: 4 9 10 13"],
    got: [{ kind: "got" }, "Sort these numbers: 9 4 7 1 8 2 6 3"],
    "react that reaches its limit": [
      {
        model: new ScriptedModel(() => ({
          text: "Again.",
          calls: [{ name: "calculator", input: { expression: "1" } }],
        })),
        maxIterations: 2,
      },
      "Count.",
    ],
    "adaptive got": [{ kind: "got", adaptive: true }, "Compare tea and coffee, and explain the differences in detail"],
  };

  test.each(Object.entries(AGENTS))(
    "passes a closed schema of 001 and is not verified: %s",
    async (_name, [options, question]) => {
      const log = new MemoryLog();
      const model = options.model ?? "offline";
      await using helper = agent({ model, tools: createBuiltinTools(), log, ...options });
      await helper.run(question, { sessionId: "s" });
      // Leaving the loop cancels the run.
      for await (const { type } of helper.events(question, { sessionId: "s" })) if (type === "message_chunk") break;
      const form = { dialect: "loom", encoderOptions: { strict: true } } as const;
      const texts = (await gather(openStream(log, "s", form))).flat().map(({ text }) => text);
      const frames = parse(texts);
      for (const frame of frames) expectSpecified(frame);
      expect(countRuns(frames)).toBe(2);
      expect(frames.filter(({ event_id }) => event_id === undefined)).toEqual([]);
      const check = createStreamCheck(DIALECTS.loom);
      const issues = [...texts.flatMap((text) => check.check(text).issues), ...check.end()];
      // IDs jump where records are not for clients.
      expect(issues.filter(({ rule }) => rule !== "event-id-jump")).toEqual([]);
      const state = { status: "complete", verified: false, undetectable: ["loss"] };
      expect(receive(texts).map((session) => session.state)).toEqual([state]);
    },
  );
});

describe("the strict form over HTTP", () => {
  async function createEndpoint(strict?: boolean) {
    const log = new MemoryLog();
    const run = makeGraphRun("run-1", { steps: 2, isOver: false });
    const after = run.length;
    const end: StampedRecord = {
      envelope: { session_id: "s", run_id: "run-1", event_id: after + 1, ts: 0 },
      event: { type: "run_end", status: "error", first_event_id: 1, last_event_id: after + 1, frame_count: after + 1 },
    };
    await writeRecords(log, [...run, end, ...makeGraphRun("run-2", { after: after + 1 })]);
    const handler = createEventsHandler({
      log,
      heartbeatMs: 0,
      allowPublic: true,
      ...(strict === undefined ? {} : { strict }),
    });
    const read = async (query: string) => {
      const headers = { accept: "application/x-ndjson" };
      const response = await handler(new Request(`http://loom.test/v1/sessions/s/events?${query}`, { headers }));
      const text = await response.text();
      return { status: response.status, texts: text.split("\n").slice(0, -1), text };
    };
    return { log, read };
  }

  test.each(["loom", "export"] as const)(
    "strict=1 in %s passes the check and includes graph states",
    async (dialect) => {
      const { read, log } = await createEndpoint();
      const { texts } = await read(`dialect=${dialect}&strict=1`);
      const check = createStreamCheck(DIALECTS[dialect]);
      const issues = [...texts.flatMap((text) => check.check(text).issues), ...check.end()];
      expect(issues.filter(({ level }) => level === "error")).toEqual([]);
      const frames = parse(texts);
      expect(countRuns(frames)).toBe(2);
      if (dialect === "loom") for (const frame of frames) expectSpecified(frame);
      const kinds = dialect === "loom" ? frames.map(({ type }) => type) : frames.flatMap((frame) => Object.keys(frame));
      for (const type of ["values", "updates", "checkpoint"])
        expect(kinds).toContain(dialect === "loom" ? type : KEYS_OF_001[type]);
      // Resumes between the wrapped run_end and its reply.
      const options = { dialect, encoderOptions: { strict: true } };
      const uncut = (await gather(openStream(log, "s", options))).flat();
      expect(uncut.map(({ text }) => text)).toEqual(texts);
      const at = uncut.findIndex(({ text }) => text.includes("run_end"));
      const rest = (await gather(openStream(log, "s", { ...options, cursor: uncut[at]?.cursor }))).flat();
      expect(rest).toEqual(uncut.slice(at + 1));
      expect(JSON.parse(rest[0]?.text ?? "")).toMatchObject({ reply: "2 " });
    },
  );

  test("the default has no graph states and is not strict; modes=all adds the states", async () => {
    const { read } = await createEndpoint();
    const types = async (query: string) => new Set(parse((await read(query)).texts).map(({ type }) => type));
    expect([...(await types(""))]).toEqual([
      "run_start",
      "node_enter",
      "message_chunk",
      "node_exit",
      "run_end",
      undefined,
    ]);
    expect([...(await types("modes=all"))]).toEqual(
      expect.arrayContaining(["updates", "values", "checkpoint", "run_end"]),
    );
    const { texts } = await read("modes=updates");
    const state = { list: ["item 1", "item 2"], n: 2 };
    expect(
      parse(texts).findLast(({ type, event_id }) => type === "updates" && (event_id as number) < 20),
    ).toMatchObject({
      state,
      written: state,
    });
  });

  test("is the default of a handler with `strict`, unless the request has strict=0", async () => {
    const { read } = await createEndpoint(true);
    expect((await read("")).text).toContain('"$loom":"run_end"');
    expect((await read("strict=0")).text).toContain('"type":"run_end"');
    expect((await read("dialect=engine")).status).toBe(200);
  });

  test("is refused for other dialects", async () => {
    const { read } = await createEndpoint();
    const { status, text } = await read("dialect=engine&strict=1");
    expect([status, text]).toEqual([400, expect.stringContaining("applies to the dialects loom and export")]);
  });
});
