/**
 * The contract of the doors over HTTP: every door that streams, in every dialect and framing, on a real connection, gives
 * the golden runs byte by byte as the log itself tells them, whole, from any frame on, and one run of many.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { agent } from "../../src/agents/index.ts";
import { createStamper, DIALECT_NAMES, type DialectName } from "../../src/dialects/index.ts";
import { encodeNdjson, encodeSse } from "../../src/framing/index.ts";
import { type Log, MemoryLog, openStream, type RunInfo, type StreamFrame } from "../../src/log/index.ts";
import { ScriptedModel } from "../../src/models/testing.ts";
import type { StampedRecord } from "../../src/protocol/index.ts";
import { type LoomServer, startLoomServer } from "../../src/server/loom-server.ts";
import { createTools } from "../agents/counted-tools.ts";
import { GOLDEN_RUNS } from "../agents/golden-runs.ts";
import { gather, writeRecords } from "../log-sessions.ts";
import { listVectorFiles, readVector } from "../vectors.ts";
import { followSse } from "./stage.ts";

const FRAMINGS = [
  {
    name: "SSE",
    accept: "text/event-stream",
    write: ({ text, cursor }: StreamFrame) => encodeSse({ id: cursor, data: text }),
  },
  { name: "NDJSON", accept: "application/x-ndjson", write: ({ text }: StreamFrame) => encodeNdjson(text) },
] as const;

const FORMS = DIALECT_NAMES.flatMap((dialect) => FRAMINGS.map((framing) => ({ dialect, ...framing })));

/** Of one stream, about. Every place is cut by the tests of the chat itself. */
const CUTS = 8;

const eachForm = (act: (form: (typeof FORMS)[number], index: number) => Promise<void>) => Promise.all(FORMS.map(act));

/** A vector as a session of its name: what its records leave open is filled in as by whoever stores them. */
function toSession(file: string): readonly [string, readonly StampedRecord[]] {
  const { name, records } = readVector(file);
  const stamp = createStamper();
  const stamped = records.flat().map((record) => stamp(record));
  return [
    name,
    stamped.map(({ envelope, event }, index) => ({
      envelope: { ...envelope, session_id: name, event_id: index + 1 },
      event,
    })),
  ];
}

const SESSIONS = listVectorFiles("runs").map(toSession);

const log: Log = new MemoryLog();
let server: LoomServer;

beforeAll(async () => {
  const agents = Object.fromEntries(
    GOLDEN_RUNS.map(({ name, turns, options }) => {
      const { tools } = createTools();
      return [name, agent({ model: new ScriptedModel(turns), tools, systemInstructions: "Be brief.", ...options })];
    }),
  );
  for (const [, records] of SESSIONS) await writeRecords(log, records);
  server = await startLoomServer({ log, agents, port: 0, runs: { sweepMs: 3_600_000 } });
});

afterAll(() => server.close({ graceMs: 0 }));

const readLog = async (session: string, dialect: DialectName): Promise<readonly StreamFrame[]> =>
  (await gather(openStream(log, session, { dialect }))).flat();

const ask = (path: string, init: RequestInit & { readonly headers: Record<string, string> }) =>
  fetch(`${server.url}${path}`, init);

async function read(path: string, accept: string, headers = {}): Promise<string> {
  const response = await ask(path, { headers: { accept, ...headers } });
  expect([response.status, response.headers.get("content-type")]).toEqual([200, accept]);
  return response.text();
}

describe("the events of a session", () => {
  it.each(SESSIONS)("%s, in every dialect and framing, from anywhere", async (session) => {
    const path = `/v1/sessions/${session}/events`;
    await eachForm(async ({ dialect, accept, write }) => {
      const frames = await readLog(session, dialect);
      const whole = frames.map(write).join("");
      expect(await read(`${path}?dialect=${dialect}`, accept)).toBe(whole);
      const middle = Math.floor(frames.length / 2);
      const rest = frames
        .slice(middle + 1)
        .map(write)
        .join("");
      const { cursor = "" } = frames[middle] ?? {};
      if (cursor === "") return;
      expect(await read(`${path}?dialect=${dialect}`, accept, { "last-event-id": cursor })).toBe(rest);
      expect(await read(`${path}?dialect=${dialect}&skip=${middle + 1}`, accept)).toBe(rest);
    });
  });

  it("are told run by run, each to its end", async () => {
    let seen = 0;
    for (const [session] of SESSIONS) {
      const runs = (await log.listRuns(session)).toReversed();
      // Runs side by side have no part of the session to themselves.
      if (runs.some(({ status, lastId = 0 }, at) => status === "live" || lastId >= (runs[at + 1]?.firstId ?? Infinity)))
        continue;
      for (const { runId, firstId, lastId } of runs) {
        seen++;
        const turn = seen % FRAMINGS.length;
        await eachForm(async ({ dialect, accept, write }, index) => {
          // Each run in every dialect, and every dialect in both framings, but not all of it for each run.
          if (index % FRAMINGS.length !== turn) return;
          const from = (await gather(openStream(log, session, { dialect, after: firstId - 1 }))).flat();
          const own = from.filter(({ cursor }) => Number(cursor.split(".")[2]) <= (lastId ?? 0));
          const path = `/v1/sessions/${session}/events?follow=true&dialect=${dialect}&run=${encodeURIComponent(runId)}`;
          expect(await read(path, accept)).toBe(own.map(write).join(""));
        });
      }
    }
    expect(seen).toBeGreaterThan(20);
  });
});

describe.each(GOLDEN_RUNS)("$name, played over HTTP", ({ name, message, answer }) => {
  const session = `live-${name}`;
  const headers = { "content-type": "application/json", "idempotency-key": `key-${name}` };
  const said = JSON.stringify({ message, agent: name });
  let run: RunInfo;

  beforeAll(async () => {
    const live = await ask(`/v1/sessions/${session}/runs`, {
      method: "POST",
      headers: { ...headers, accept: "text/event-stream" },
      body: said,
    });
    let text = "";
    for await (const { id = "", data } of followSse(live)) {
      text += encodeSse({ id, data });
      const { type, call_id } = JSON.parse(data) as { readonly type?: string; readonly call_id?: string };
      if (type !== "tool_approval") continue;
      const body = JSON.stringify(answer);
      const path = `/v1/sessions/${session}/approvals/${call_id}`;
      const answered = await ask(path, { method: "POST", headers: { "content-type": "application/json" }, body });
      expect(answered.status).toBe(200);
    }
    const frames = await readLog(session, "loom");
    expect(text).toBe(frames.map((frame) => encodeSse({ id: frame.cursor, data: frame.text })).join(""));
    [run] = (await log.listRuns(session)) as [RunInfo];
  });

  it.each(FORMS)("is told again in $dialect as $name by the key of its message", async ({ dialect, accept, write }) => {
    const frames = await readLog(session, dialect);
    const path = `/v1/sessions/${session}/runs?dialect=${dialect}`;
    const again = await ask(path, { method: "POST", headers: { ...headers, accept }, body: said });
    expect(await again.text()).toBe(frames.map(write).join(""));
    const at = frames.length >> 1;
    const cut = { ...headers, accept, "last-event-id": frames[at]?.cursor ?? "" };
    const rest = await ask(path, { method: "POST", headers: cut, body: said });
    expect(await rest.text()).toBe(
      frames
        .slice(at + 1)
        .map(write)
        .join(""),
    );
    expect(await log.listRuns(session)).toEqual([run]);
  });

  it("is told again as the chat of 003", async () => {
    const frames = await readLog(session, "engine");
    const [{ write, accept }] = FRAMINGS;
    const body = JSON.stringify({ session_id: session, content: message, agent: name });
    const whole = frames.map(write).join("");
    expect(await (await ask("/api/chat", { method: "POST", headers, body })).text()).toBe(whole);
    expect(await read(`/api/chat?session_id=${session}`, accept)).toBe(whole);
    const step = Math.max(1, Math.floor(frames.length / CUTS));
    for (const [index, { cursor }] of frames.entries()) {
      if (index % step > 0 && index < frames.length - 2) continue;
      const rest = frames
        .slice(index + 1)
        .map(write)
        .join("");
      const cut = { ...headers, "last-event-id": cursor };
      expect(await (await ask("/api/chat", { method: "POST", headers: cut, body })).text()).toBe(rest);
    }
    expect(await log.listRuns(session)).toEqual([run]);
  });
});
