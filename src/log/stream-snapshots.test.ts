// What a resume costs, counted in records read, and that a bad snapshot only costs time.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { deserialize, serialize } from "node:v8";
import { afterAll, describe, expect, test } from "vitest";
import { LOGS, makeGraphRun, makeRun, overrideLog, writeRecords } from "../../test/log-sessions.ts";
import { LONG, sampleCases } from "../../test/sampling.ts";
import { readVector, listVectorFiles } from "../../test/vectors.ts";
import { type DialectName, DIALECTS } from "../dialects/index.ts";
import type { AnyEvent, StampedRecord } from "../protocol/index.ts";
import { createPageEncoder } from "./encode-page.ts";
import { createEntry } from "./entry.ts";
import type { EncoderSnapshot, Log } from "./log.ts";
import type { LogLimits } from "./log-limits.ts";
import { openSqliteLog } from "./open-log.ts";
import { Page } from "./page.ts";
import { openStream, type StreamFrame, type StreamOptions } from "./stream.ts";
import { STATE_VERSION } from "./stream-snapshots.ts";

const folder = mkdtempSync(join(tmpdir(), "loom-snapshots-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let count = 0;

type Form = Pick<StreamOptions, "dialect" | "encoderOptions" | "modes">;

const FORMS: readonly (readonly [string, Form])[] = [
  ["engine", { dialect: "engine" }],
  ["lumine", { dialect: "lumine" }],
  ["stream-event", { dialect: "stream-event" }],
  ["loom in strict form", { dialect: "loom", encoderOptions: { strict: true } }],
  ["loom without envelope", { dialect: "loom", encoderOptions: { envelope: false } }],
  ["loom with states", { dialect: "loom", modes: "all" }],
  ["loom with few events", { dialect: "loom", modes: ["tools"] }],
  ["export", { dialect: "export" }],
  ["export in strict form", { dialect: "export", encoderOptions: { strict: true } }],
];

const STORES = [
  ...LOGS.map((log) => ({ ...log, forms: sampleCases(FORMS, { kindOf: ([name]) => name.split(" ")[0] ?? "" }) })),
  {
    name: "sqlite",
    open: async (limits: Partial<LogLimits> = {}) => openSqliteLog(join(folder, `${++count}.db`), { limits }),
    forms: sampleCases(FORMS.slice(0, 2)),
  },
];

/** Much more than a resume may read. */
const LONGER = LONG ? 30_000 : 6_000;
/** Records that a resume of a run of text reads at most, however long the run is. */
const MAX_COST = 4000;

/** A run of text chunks that does not end, or ends without a reply. */
function makeLongRun(length: number, end?: "error"): StampedRecord[] {
  const [start] = makeRun("run-1") as [StampedRecord];
  const chunk: AnyEvent = { type: "message_chunk", content: "word ", id: "think" };
  const events = [start.event, ...Array.from({ length: length - 1 }, () => chunk)];
  if (end !== undefined) events.push({ type: "run_end", status: end, frame_count: length + 1 });
  return events.map((event, index) => ({
    envelope: { ...start.envelope, event_id: index + 1, ts: index, node_id: "n" },
    event,
  }));
}

async function read(log: Log, options: StreamOptions): Promise<StreamFrame[]> {
  const frames: StreamFrame[] = [];
  for await (const batch of openStream(log, "s", options)) {
    frames.push(...batch);
    // Lets the store finish a snapshot: it stores one at a time.
    await log.updateSession("s", { title: "title" });
  }
  await log.updateSession("s", { title: "title" });
  return frames;
}

/** Counts the records that are read, and the snapshots that are saved. */
function meter(log: Log) {
  const counts = { records: 0, snapshots: [] as EncoderSnapshot[] };
  const metered = overrideLog(log, (real) => ({
    read: async (...given) => {
      const page = await real.read(...given);
      counts.records += page.length;
      return page;
    },
    peek: () => undefined,
    saveSnapshot: async (sessionId, snapshot) => {
      counts.snapshots.push(snapshot);
      await real.saveSnapshot(sessionId, snapshot);
    },
  }));
  return { log: metered, counts };
}

describe.each(STORES)("a resume on a $name log", ({ open, forms }) => {
  test("reads as many records in a long run as in a short one, in every form", async () => {
    const lengths = [LONGER / 4, LONGER];
    const meters = await Promise.all(
      lengths.map(async (length) => {
        const metered = meter(await open());
        await writeRecords(metered.log, makeLongRun(length));
        return metered;
      }),
    );
    for (const [name, form] of forms) {
      const costs: number[] = [];
      for (const [index, { log, counts }] of meters.entries()) {
        const length = lengths[index] ?? 0;
        const uncut = await read(log, form);
        counts.records = 0;
        const rest = await read(log, { ...form, after: length - 3 });
        costs.push(counts.records);
        expect(rest, name).toEqual(uncut.slice(uncut.length - rest.length));
        expect(rest, name).toHaveLength(uncut.length < 3 ? 0 : 3);
        // The end of the answer is stored, up to 64 KiB of it.
        for (const { state } of counts.snapshots) expect(state.length, name).toBeLessThan(70_000);
        expect(counts.snapshots.length, name).toBeLessThanOrEqual((forms.length * length) / 1000);
      }
      for (const cost of costs) expect(cost, name).toBeLessThanOrEqual(MAX_COST);
    }
    for (const { log } of meters) await log.close();
  });

  test.each(["loom", "export"] as const)("%s: repeats the whole answer of a failed run", async (dialect) => {
    const log = await open();
    await writeRecords(log, makeLongRun(5000, "error"));
    const form = { dialect, encoderOptions: { strict: true } } as const;
    const uncut = await read(log, form);
    expect(uncut.at(-1)?.text).toContain("word word word");
    expect(uncut.at(-1)?.text.length).toBeGreaterThan(4999 * 5);
    for (const at of [0, 10, 2500, 4990, 5000])
      expect(await read(log, { ...form, cursor: uncut[at]?.cursor })).toEqual(uncut.slice(at + 1));
    await log.close();
  });

  test("continues full states, with a limited state", async () => {
    const { log, counts } = meter(await open());
    await writeRecords(log, makeGraphRun("run-1", { steps: 1000 }));
    const form = { dialect: "loom", modes: ["values"] } as const;
    const uncut = await read(log, form);
    counts.records = 0;
    expect(await read(log, { ...form, cursor: uncut.at(-5)?.cursor })).toEqual(uncut.slice(-4));
    expect(counts.records).toBeLessThan(4000);
    await log.close();
  });

  test.each(["all", ["values"], ["updates"]] as const)(
    "continues full states with modes %o, at every record",
    async (modes) => {
      const log = await open({ snapshotRecords: 1 });
      await writeRecords(log, makeGraphRun("run-1", { steps: 5 }));
      const form = { dialect: "loom", modes } as const;
      const uncut = await read(log, { ...form, limit: 1 });
      for (const [at, { cursor }] of uncut.entries())
        expect(await read(log, { ...form, cursor })).toEqual(uncut.slice(at + 1));
      await log.close();
    },
  );

  test("writes no snapshots for short runs, and none that is too large", async () => {
    const { log, counts } = meter(await open());
    const runs = Array.from({ length: 1000 }, (_, n) => makeRun(`run-${n}`, { after: n * 4 }));
    await writeRecords(log, runs.flat());
    await read(log, { dialect: "engine" });
    expect(counts.snapshots).toEqual([]);
    await log.close();
    const { log: other, counts: large } = meter(await open({ maxSnapshotBytes: 5000 }));
    await writeRecords(other, makeGraphRun("run-1", { steps: 700 }));
    await read(other, { dialect: "loom", modes: ["values"] });
    expect(Math.max(...large.snapshots.map(({ state }) => state.length))).toBeLessThanOrEqual(5000);
    await other.close();
  });
});

describe("a snapshot", () => {
  test.each([
    ["damaged", "UPDATE snapshots SET state = zeroblob(length(state))"],
    ["moved", "UPDATE snapshots SET event_id = event_id + 1"],
    ["of another version", "UPDATE snapshots SET key = '0' || key"],
    ["deleted", "DELETE FROM snapshots"],
  ])("that is %s is not used: the run is read from its start", async (_what, sql) => {
    const path = join(folder, `${++count}.db`);
    const log = await openSqliteLog(path);
    await writeRecords(log, makeLongRun(4000));
    const uncut = await read(log, { dialect: "engine" });
    const db = new DatabaseSync(path);
    expect(db.prepare("SELECT count(*) AS n FROM snapshots").get()).not.toEqual({ n: 0 });
    db.exec(sql);
    db.close();
    const { log: metered, counts } = meter(log);
    const rest = [];
    for await (const batch of openStream(metered, "s", { dialect: "engine", after: 3990 })) rest.push(...batch);
    expect(rest).toEqual(uncut.slice(3990));
    expect(counts.records).toBe(4000);
    await log.close();
  });

  test("that cannot be read or stored does not fail the stream", async () => {
    const [{ open }] = LOGS as [(typeof LOGS)[number]];
    const log = overrideLog(await open(), () => ({
      findSnapshot: async () => ({ key: "k", eventId: 3000, state: new Uint8Array([1, 2, 3]) }),
      saveSnapshot: async () => Promise.reject(new Error("full")),
    }));
    await writeRecords(log, makeLongRun(4000));
    const uncut = await read(log, { dialect: "engine" });
    expect(uncut).toHaveLength(4000);
    expect(await read(log, { dialect: "engine", after: 3990 })).toEqual(uncut.slice(3990));
    await log.close();
  });

  // If this fails, increase STATE_VERSION, and then update the values here. A new vector may also add fields.
  test.runIf(LONG)("has the shape of its version", () => {
    const runs = listVectorFiles("runs").map(readVector);
    const records = runs
      .flatMap((vector) => vector.records.flat())
      .map((record, index) => ({
        ...record,
        envelope: { ...record.envelope, session_id: "s", event_id: index + 1 },
      }));
    const texts = records.map((record) => createEntry(record as StampedRecord).text);
    const fields = (dialect: DialectName, strict: boolean): string => {
      const found = new Set<string>();
      const encoding = { dialect: DIALECTS[dialect], encoderOptions: { strict }, modes: "all", version: 6 } as const;
      const encoder = createPageEncoder(encoding, { last: 0 }, 1);
      for (const [index, text] of texts.entries()) {
        for (const _frames of encoder.encode(new Page("s", index, index + 1, [text])));
        if (index % 7 === 0) listFields(deserialize(serialize(encoder.save(index + 1))), "", found);
      }
      return [...found].sort().join(" ");
    };
    expect({
      version: STATE_VERSION,
      engine: fields("engine", false),
      lumine: fields("lumine", false),
      "stream-event": fields("stream-event", false),
      "ai-sdk": fields("ai-sdk", false),
      "ag-ui": fields("ag-ui", false),
      "openai-responses": fields("openai-responses", false),
      "openai-chat": fields("openai-chat", false),
      strict: fields("loom", true),
    }).toMatchInlineSnapshot(`
      {
        "ag-ui": " .encoder .encoder.dropped .encoder.ends .encoder.folds .encoder.folds[] .encoder.folds[].answered .encoder.folds[].answered.isCut .encoder.folds[].answered.last .encoder.folds[].answered.nodes .encoder.folds[].answered.nodes[] .encoder.folds[].answered.tail .encoder.folds[].calls .encoder.folds[].calls.byKey .encoder.folds[].calls.byKey[] .encoder.folds[].calls.byKey[].arguments .encoder.folds[].calls.byKey[].description .encoder.folds[].calls.byKey[].id .encoder.folds[].calls.byKey[].name .encoder.folds[].calls.byKey[].shown .encoder.folds[].calls.keys .encoder.folds[].calls.keys.made .encoder.folds[].calls.keys.open .encoder.folds[].calls.keys.open[] .encoder.folds[].calls.keys.open[].started .encoder.folds[].calls.keys.open[].started[] .encoder.folds[].calls.keys.open[].waiting .encoder.folds[].interrupts .encoder.folds[].interrupts[] .encoder.folds[].interrupts[].expiresAt .encoder.folds[].interrupts[].id .encoder.folds[].interrupts[].message .encoder.folds[].interrupts[].metadata .encoder.folds[].interrupts[].metadata.input .encoder.folds[].interrupts[].metadata.input.dry_run .encoder.folds[].interrupts[].metadata.input.older_than_days .encoder.folds[].interrupts[].metadata.input.path .encoder.folds[].interrupts[].metadata.input.service .encoder.folds[].interrupts[].metadata.kind .encoder.folds[].interrupts[].metadata.loom .encoder.folds[].interrupts[].metadata.loom.digest .encoder.folds[].interrupts[].metadata.loom.expires_at .encoder.folds[].interrupts[].metadata.toolName .encoder.folds[].interrupts[].reason .encoder.folds[].interrupts[].toolCallId .encoder.folds[].isLegacy .encoder.folds[].lists .encoder.folds[].lists[] .encoder.folds[].lists[][] .encoder.folds[].lists[][][] .encoder.folds[].parents .encoder.folds[].parents[] .encoder.folds[].pending .encoder.folds[].reasoning .encoder.folds[].reasoning[] .encoder.folds[].reasoning[].id .encoder.folds[].reasoning[].isOpen .encoder.folds[].renamed .encoder.folds[].runId .encoder.folds[].said .encoder.folds[].said[] .encoder.folds[].said[][] .encoder.folds[].state .encoder.folds[].states .encoder.folds[].states[] .encoder.folds[].states[].changes .encoder.folds[].states[].isSent .encoder.folds[].states[].kinds .encoder.folds[].states[].kinds[] .encoder.folds[].states[].pending .encoder.folds[].states[].whole .encoder.folds[].steps .encoder.folds[].steps[] .encoder.folds[].streaming .encoder.folds[].streaming[] .encoder.folds[].streaming[].id .encoder.folds[].streaming[].isOpen .encoder.folds[].streaming[].node .encoder.folds[].streaming[].text .encoder.folds[].text .encoder.folds[].text[] .encoder.folds[].text[].id .encoder.folds[].text[].isOpen .encoder.folds[].threadId .encoder.folds[].usage .encoder.folds[].usage.completion_tokens .encoder.folds[].usage.prompt_tokens .encoder.folds[].usage.total_tokens .encoder.last .encoder.last[] .encoder.shared .last .selection .selection.isEvicted .selection.omitted .selection.states",
        "ai-sdk": " .encoder .encoder.dropped .encoder.ends .encoder.folds .encoder.folds[] .encoder.folds[].answered .encoder.folds[].answered.isCut .encoder.folds[].answered.last .encoder.folds[].answered.nodes .encoder.folds[].answered.nodes[] .encoder.folds[].answered.tail .encoder.folds[].asked .encoder.folds[].asked[] .encoder.folds[].calls .encoder.folds[].calls.byKey .encoder.folds[].calls.byKey[] .encoder.folds[].calls.byKey[].arguments .encoder.folds[].calls.byKey[].description .encoder.folds[].calls.byKey[].id .encoder.folds[].calls.byKey[].name .encoder.folds[].calls.byKey[].shown .encoder.folds[].calls.keys .encoder.folds[].calls.keys.made .encoder.folds[].calls.keys.open .encoder.folds[].calls.keys.open[] .encoder.folds[].calls.keys.open[].started .encoder.folds[].calls.keys.open[].waiting .encoder.folds[].calls.keys.open[].waiting[] .encoder.folds[].finishReason .encoder.folds[].isOpen .encoder.folds[].isWaiting .encoder.folds[].lists .encoder.folds[].lists[] .encoder.folds[].lists[].items .encoder.folds[].lists[].items[] .encoder.folds[].lists[].items[].completed .encoder.folds[].lists[].items[].id .encoder.folds[].lists[].items[].text .encoder.folds[].lists[].list_id .encoder.folds[].lists[].title .encoder.folds[].lists[].type .encoder.folds[].models .encoder.folds[].nodes .encoder.folds[].nodes[] .encoder.folds[].nodes[].attempt .encoder.folds[].nodes[].name .encoder.folds[].nodes[].parent .encoder.folds[].nodes[].supersedes .encoder.folds[].reasoning .encoder.folds[].reasoning[] .encoder.folds[].runId .encoder.folds[].step .encoder.folds[].step.calls .encoder.folds[].step.calls[] .encoder.folds[].step.isEmpty .encoder.folds[].step.isKept .encoder.folds[].step.node .encoder.folds[].streaming .encoder.folds[].streaming[] .encoder.folds[].text .encoder.folds[].text[] .encoder.folds[].version .encoder.last .encoder.last[] .encoder.shared .last .selection .selection.isEvicted .selection.omitted .selection.states",
        "engine": " .encoder .encoder.dropped .encoder.ends .encoder.folds .encoder.folds[] .encoder.folds[].answered .encoder.folds[].answered.isCut .encoder.folds[].answered.last .encoder.folds[].answered.nodes .encoder.folds[].answered.nodes[] .encoder.folds[].answered.tail .encoder.folds[].attempt .encoder.folds[].calls .encoder.folds[].calls.byKey .encoder.folds[].calls.byKey[] .encoder.folds[].calls.byKey[].arguments .encoder.folds[].calls.byKey[].description .encoder.folds[].calls.byKey[].id .encoder.folds[].calls.byKey[].name .encoder.folds[].calls.byKey[].shown .encoder.folds[].calls.byKey[].startedAt .encoder.folds[].calls.keys .encoder.folds[].calls.keys.made .encoder.folds[].calls.keys.open .encoder.folds[].calls.keys.open[] .encoder.folds[].calls.keys.open[].started .encoder.folds[].calls.keys.open[].started[] .encoder.folds[].calls.keys.open[].waiting .encoder.folds[].debug .encoder.folds[].end .encoder.folds[].hasResults .encoder.folds[].inSeconds .encoder.folds[].isAgentRun .encoder.folds[].isAnswerOpen .encoder.folds[].language .encoder.folds[].opened .encoder.folds[].requestId .encoder.folds[].sequence .encoder.folds[].sessionId .encoder.folds[].startedAt .encoder.folds[].thoughts .encoder.folds[].thoughts.ended .encoder.folds[].thoughts.hasSent .encoder.folds[].thoughts.isNext .encoder.folds[].thoughts.live .encoder.folds[].thoughts.next .encoder.folds[].thoughts.open .encoder.folds[].thoughts.open[] .encoder.folds[].thoughts.size .encoder.folds[].thoughts.waiting .encoder.folds[].thoughts.waiting[] .encoder.folds[].thoughts.waiting[].isEnded .encoder.folds[].thoughts.waiting[].isNext .encoder.folds[].thoughts.waiting[].key .encoder.folds[].thoughts.waiting[].pieces .encoder.folds[].thoughts.waiting[].pieces[] .encoder.folds[].thoughts.waiting[].pieces[].content .encoder.folds[].thoughts.waiting[].pieces[].isFirst .encoder.folds[].thoughts.waiting[].pieces[].node .encoder.folds[].thoughts.waiting[].pieces[].stage .encoder.folds[].tokens .encoder.folds[].toolCalls .encoder.folds[].ts .encoder.last .encoder.last[] .encoder.shared .last .selection .selection.isEvicted .selection.omitted .selection.states",
        "lumine": " .encoder .encoder.dropped .encoder.ends .encoder.folds .encoder.folds[] .encoder.folds[].answered .encoder.folds[].answered.isCut .encoder.folds[].answered.last .encoder.folds[].answered.nodes .encoder.folds[].answered.nodes[] .encoder.folds[].answered.tail .encoder.folds[].calls .encoder.folds[].calls.byKey .encoder.folds[].calls.byKey[] .encoder.folds[].calls.byKey[].arguments .encoder.folds[].calls.byKey[].description .encoder.folds[].calls.byKey[].id .encoder.folds[].calls.byKey[].name .encoder.folds[].calls.byKey[].shown .encoder.folds[].calls.byKey[].wasAsked .encoder.folds[].calls.keys .encoder.folds[].calls.keys.made .encoder.folds[].calls.keys.open .encoder.folds[].calls.keys.open[] .encoder.folds[].calls.keys.open[].started .encoder.folds[].calls.keys.open[].started[] .encoder.folds[].calls.keys.open[].waiting .encoder.folds[].conversationId .encoder.folds[].errorShown .encoder.folds[].hasText .encoder.folds[].language .encoder.folds[].lastWasError .encoder.folds[].messageId .encoder.folds[].opened .encoder.folds[].sessionId .encoder.folds[].thinking .encoder.folds[].thoughts .encoder.folds[].thoughts.ended .encoder.folds[].thoughts.hasSent .encoder.folds[].thoughts.isNext .encoder.folds[].thoughts.live .encoder.folds[].thoughts.next .encoder.folds[].thoughts.open .encoder.folds[].thoughts.open[] .encoder.folds[].thoughts.size .encoder.folds[].thoughts.waiting .encoder.folds[].thoughts.waiting[] .encoder.folds[].thoughts.waiting[].isEnded .encoder.folds[].thoughts.waiting[].isNext .encoder.folds[].thoughts.waiting[].key .encoder.folds[].thoughts.waiting[].pieces .encoder.folds[].thoughts.waiting[].pieces[] .encoder.folds[].thoughts.waiting[].pieces[].content .encoder.folds[].thoughts.waiting[].pieces[].isFirst .encoder.folds[].thoughts.waiting[].pieces[].node .encoder.folds[].thoughts.waiting[].pieces[].stage .encoder.folds[].toolFailure .encoder.last .encoder.last[] .encoder.shared .encoder.shared.held .last .selection .selection.isEvicted .selection.omitted .selection.states",
        "openai-chat": " .encoder .encoder.dropped .encoder.ends .encoder.folds .encoder.folds[] .encoder.folds[].after .encoder.folds[].answered .encoder.folds[].answered.isCut .encoder.folds[].answered.last .encoder.folds[].answered.nodes .encoder.folds[].answered.nodes[] .encoder.folds[].answered.tail .encoder.folds[].calls .encoder.folds[].calls.byKey .encoder.folds[].calls.byKey[] .encoder.folds[].calls.byKey[].arguments .encoder.folds[].calls.byKey[].description .encoder.folds[].calls.byKey[].id .encoder.folds[].calls.byKey[].name .encoder.folds[].calls.byKey[].shown .encoder.folds[].calls.keys .encoder.folds[].calls.keys.made .encoder.folds[].calls.keys.open .encoder.folds[].calls.keys.open[] .encoder.folds[].calls.keys.open[].started .encoder.folds[].calls.keys.open[].started[] .encoder.folds[].calls.keys.open[].waiting .encoder.folds[].created .encoder.folds[].finishReason .encoder.folds[].head .encoder.folds[].isOpen .encoder.folds[].isRepeated .encoder.folds[].model .encoder.folds[].providerStatus .encoder.folds[].run .encoder.folds[].sentCalls .encoder.folds[].session .encoder.folds[].thoughts .encoder.folds[].thoughts.ended .encoder.folds[].thoughts.hasSent .encoder.folds[].thoughts.isNext .encoder.folds[].thoughts.live .encoder.folds[].thoughts.next .encoder.folds[].thoughts.open .encoder.folds[].thoughts.open[] .encoder.folds[].thoughts.size .encoder.folds[].thoughts.waiting .encoder.folds[].thoughts.waiting[] .encoder.folds[].thoughts.waiting[].isEnded .encoder.folds[].thoughts.waiting[].isNext .encoder.folds[].thoughts.waiting[].key .encoder.folds[].thoughts.waiting[].pieces .encoder.folds[].thoughts.waiting[].pieces[] .encoder.folds[].thoughts.waiting[].pieces[].content .encoder.folds[].thoughts.waiting[].pieces[].isFirst .encoder.folds[].thoughts.waiting[].pieces[].node .encoder.folds[].thoughts.waiting[].pieces[].stage .encoder.folds[].usage .encoder.folds[].usage.completion_tokens .encoder.folds[].usage.prompt_tokens .encoder.folds[].usage.total_tokens .encoder.folds[].waiting .encoder.folds[].waiting.asked .encoder.folds[].waiting.hasChanged .encoder.folds[].waiting.nodes .encoder.folds[].waiting.nodes[] .encoder.folds[].waiting.waiting .encoder.last .encoder.last[] .encoder.shared .last .selection .selection.isEvicted .selection.omitted .selection.states",
        "openai-responses": " .encoder .encoder.dropped .encoder.ends .encoder.folds .encoder.folds[] .encoder.folds[].about .encoder.folds[].about.instructions .encoder.folds[].about.metadata .encoder.folds[].about.previous_response_id .encoder.folds[].about.text .encoder.folds[].about.text.format .encoder.folds[].about.text.format.type .encoder.folds[].about.tool_choice .encoder.folds[].about.tools .encoder.folds[].about.tools[] .encoder.folds[].about.tools[].description .encoder.folds[].about.tools[].name .encoder.folds[].about.tools[].parameters .encoder.folds[].about.tools[].parameters.properties .encoder.folds[].about.tools[].parameters.properties.precise .encoder.folds[].about.tools[].parameters.properties.precise.type .encoder.folds[].about.tools[].parameters.required .encoder.folds[].about.tools[].parameters.required[] .encoder.folds[].about.tools[].parameters.type .encoder.folds[].about.tools[].strict .encoder.folds[].about.tools[].type .encoder.folds[].after .encoder.folds[].answered .encoder.folds[].answered.isCut .encoder.folds[].answered.last .encoder.folds[].answered.nodes .encoder.folds[].answered.nodes[] .encoder.folds[].answered.tail .encoder.folds[].calls .encoder.folds[].calls.byKey .encoder.folds[].calls.byKey[] .encoder.folds[].calls.byKey[].arguments .encoder.folds[].calls.byKey[].description .encoder.folds[].calls.byKey[].id .encoder.folds[].calls.byKey[].name .encoder.folds[].calls.byKey[].shown .encoder.folds[].calls.keys .encoder.folds[].calls.keys.made .encoder.folds[].calls.keys.open .encoder.folds[].calls.keys.open[] .encoder.folds[].calls.keys.open[].started .encoder.folds[].calls.keys.open[].started[] .encoder.folds[].calls.keys.open[].waiting .encoder.folds[].clientTools .encoder.folds[].clientTools[] .encoder.folds[].createdAt .encoder.folds[].held .encoder.folds[].id .encoder.folds[].incompleteReason .encoder.folds[].isCut .encoder.folds[].isOpen .encoder.folds[].items .encoder.folds[].model .encoder.folds[].of .encoder.folds[].of.run .encoder.folds[].of.session .encoder.folds[].open .encoder.folds[].open[] .encoder.folds[].open[].call .encoder.folds[].open[].call.loom .encoder.folds[].open[].call.loom.call_id .encoder.folds[].open[].call.name .encoder.folds[].open[].id .encoder.folds[].open[].index .encoder.folds[].open[].kind .encoder.folds[].open[].node .encoder.folds[].open[].text .encoder.folds[].output .encoder.folds[].output[] .encoder.folds[].output[].index .encoder.folds[].output[].isKept .encoder.folds[].output[].item .encoder.folds[].output[].item.approval_request_id .encoder.folds[].output[].item.arguments .encoder.folds[].output[].item.content .encoder.folds[].output[].item.content[] .encoder.folds[].output[].item.content[].annotations .encoder.folds[].output[].item.content[].logprobs .encoder.folds[].output[].item.content[].text .encoder.folds[].output[].item.content[].type .encoder.folds[].output[].item.error .encoder.folds[].output[].item.error.content .encoder.folds[].output[].item.error.content[] .encoder.folds[].output[].item.error.content[].text .encoder.folds[].output[].item.error.content[].type .encoder.folds[].output[].item.error.type .encoder.folds[].output[].item.id .encoder.folds[].output[].item.loom .encoder.folds[].output[].item.loom.call_id .encoder.folds[].output[].item.loom.digest .encoder.folds[].output[].item.loom.duration_ms .encoder.folds[].output[].item.loom.error_code .encoder.folds[].output[].item.loom.expires_at .encoder.folds[].output[].item.loom.output .encoder.folds[].output[].item.loom.output.city .encoder.folds[].output[].item.loom.output.count .encoder.folds[].output[].item.loom.output.high_c .encoder.folds[].output[].item.loom.output.list_id .encoder.folds[].output[].item.loom.output.low_c .encoder.folds[].output[].item.loom.output.rain .encoder.folds[].output[].item.loom.output.rain[] .encoder.folds[].output[].item.loom.output.rain[].from .encoder.folds[].output[].item.loom.output.rain[].mm .encoder.folds[].output[].item.loom.output.rows .encoder.folds[].output[].item.loom.output.sky .encoder.folds[].output[].item.loom.output.table .encoder.folds[].output[].item.loom.output.url .encoder.folds[].output[].item.loom.output[] .encoder.folds[].output[].item.loom.output[].text .encoder.folds[].output[].item.loom.output[].title .encoder.folds[].output[].item.name .encoder.folds[].output[].item.output .encoder.folds[].output[].item.role .encoder.folds[].output[].item.server_label .encoder.folds[].output[].item.status .encoder.folds[].output[].item.summary .encoder.folds[].output[].item.summary[] .encoder.folds[].output[].item.summary[].text .encoder.folds[].output[].item.summary[].type .encoder.folds[].output[].item.type .encoder.folds[].output[].node .encoder.folds[].paused .encoder.folds[].paused[] .encoder.folds[].recent .encoder.folds[].recent.key .encoder.folds[].recent.kind .encoder.folds[].recent.node .encoder.folds[].sequence .encoder.folds[].usage .encoder.folds[].usage.completion_tokens .encoder.folds[].usage.prompt_tokens .encoder.folds[].usage.total_tokens .encoder.folds[].waiting .encoder.folds[].waiting.asked .encoder.folds[].waiting.asked[] .encoder.folds[].waiting.hasChanged .encoder.folds[].waiting.nodes .encoder.folds[].waiting.nodes[] .encoder.folds[].waiting.waiting .encoder.folds[].waiting.waiting[] .encoder.folds[].waiting.waiting[].arguments .encoder.folds[].waiting.waiting[].id .encoder.folds[].waiting.waiting[].loom .encoder.folds[].waiting.waiting[].loom.call_id .encoder.folds[].waiting.waiting[].loom.digest .encoder.folds[].waiting.waiting[].loom.expires_at .encoder.folds[].waiting.waiting[].name .encoder.folds[].waiting.waiting[].server_label .encoder.folds[].waiting.waiting[].type .encoder.last .encoder.last[] .encoder.shared .last .selection .selection.isEvicted .selection.omitted .selection.states",
        "stream-event": " .encoder .encoder.dropped .encoder.ends .encoder.folds .encoder.folds[] .encoder.folds[].answered .encoder.folds[].answered.isCut .encoder.folds[].answered.last .encoder.folds[].answered.nodes .encoder.folds[].answered.nodes[] .encoder.folds[].answered.tail .encoder.folds[].countsModelCalls .encoder.folds[].generatedIds .encoder.folds[].generatedIds[] .encoder.folds[].generatedIds[][] .encoder.folds[].held .encoder.folds[].iteration .encoder.folds[].knownCalls .encoder.folds[].knownCalls[] .encoder.folds[].lastTs .encoder.folds[].pending .encoder.folds[].pending[] .encoder.folds[].pending[].calls .encoder.folds[].pending[].calls[] .encoder.folds[].pending[].calls[].id .encoder.folds[].pending[].calls[].name .encoder.folds[].pending[].extra .encoder.folds[].pending[].ts .encoder.folds[].requestId .encoder.folds[].rounds .encoder.folds[].rounds[] .encoder.folds[].source .encoder.folds[].ts .encoder.folds[].wantsText .encoder.last .encoder.last[] .encoder.shared .encoder.shared.count .last .selection .selection.isEvicted .selection.omitted .selection.states",
        "strict": " .encoder .encoder.held .encoder.runs .encoder.runs[] .encoder.runs[].last .encoder.runs[].nodes .encoder.runs[].nodes[] .encoder.runs[].nodes[].fromId .encoder.runs[].nodes[].isCut .encoder.runs[].nodes[].missing .encoder.runs[].nodes[].text .last .selection .selection.isEvicted .selection.omitted .selection.omitted[] .selection.states .selection.states[] .selection.states[][] .selection.states[][].nested .selection.states[][].root .selection.states[][].root.arrived .selection.states[][].root.base .selection.states[][].root.checkpoint .selection.states[][].root.children .selection.states[][].root.closing .selection.states[][].root.closing.isComplete .selection.states[][].root.closing.state .selection.states[][].root.isComplete",
        "version": 7,
      }
    `);
  });
});

/** Lists the paths of all fields, except keys of maps and the content of events and graph states. */
function listFields(value: unknown, path: string, found: Set<string>): void {
  found.add(path);
  if (/\.(base|arguments|checkpoint|end|toolFailure|extra|patch|held|state|whole|changes)$/.test(path)) return;
  if (value instanceof Map || value instanceof Set || Array.isArray(value))
    for (const each of value.values()) listFields(each, `${path}[]`, found);
  else if (typeof value === "object" && value !== null)
    for (const [name, field] of Object.entries(value)) listFields(field, `${path}.${name}`, found);
}
