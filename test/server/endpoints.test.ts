/**
 * The contract of the streaming endpoints. Each one must return the golden runs byte for byte, over a real connection,
 * in every dialect and framing: the whole stream, from any frame on, and a single run.
 */
import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { WebSocket } from "ws";
import { agent } from "../../src/agents/index.ts";
import { createStamper, DIALECT_NAMES, type DialectName } from "../../src/dialects/index.ts";
import { encodeNdjson, encodeSse } from "../../src/framing/index.ts";
import { type Log, MemoryLog, openStream, type RunInfo, type StreamFrame } from "../../src/log/index.ts";
import { ScriptedModel } from "../../src/models/testing.ts";
import { LoomError, type StampedRecord } from "../../src/protocol/index.ts";
import { type LoomServer, startLoomServer } from "../../src/server/loom-server.ts";
import { createTools } from "../agents/counted-tools.ts";
import { GOLDEN_RUNS } from "../agents/golden-runs.ts";
import { gather, writeRecords } from "../log-sessions.ts";
import { ENDPOINT_SAMPLES, LONG } from "../sampling.ts";
import { listVectorFiles, readVector } from "../vectors.ts";
import { followSse } from "./server-fixture.ts";

const FRAMINGS = [
  {
    name: "SSE",
    accept: "text/event-stream",
    write: ({ text, cursor }: StreamFrame) => encodeSse({ id: cursor, data: text }),
  },
  { name: "NDJSON", accept: "application/x-ndjson", write: ({ text }: StreamFrame) => encodeNdjson(text) },
] as const;

const FORMS = DIALECT_NAMES.flatMap((dialect) => FRAMINGS.map((framing) => ({ dialect, ...framing })));

/** Every dialect. The short suite uses every third dialect with one framing, and alternates them. */
function pickForms(turn: number): typeof FORMS {
  const { dialectStep, framings } = ENDPOINT_SAMPLES;
  return FORMS.filter((_form, index) => {
    const dialect = Math.floor(index / FRAMINGS.length);
    return (dialect + turn) % dialectStep === 0 && (dialect + index + turn) % FRAMINGS.length < framings;
  });
}

/** Converts a vector to a session with the same name, and fills in the missing envelope fields. */
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

describe("the events endpoint of a session", () => {
  it("streams every dialect and framing, from any position", async () => {
    for (const [turn, [session]] of SESSIONS.entries()) {
      const path = `/v1/sessions/${session}/events`;
      for (const { dialect, accept, write } of pickForms(turn)) {
        const frames = await readLog(session, dialect);
        const whole = frames.map(write).join("");
        const where = `${session} ${dialect} ${accept}`;
        expect(await read(`${path}?dialect=${dialect}`, accept), where).toBe(whole);
        const middle = Math.floor(frames.length / 2);
        const rest = frames
          .slice(middle + 1)
          .map(write)
          .join("");
        const { cursor = "" } = frames[middle] ?? {};
        if (cursor === "") continue;
        const ways = [
          { query: "", headers: { "last-event-id": cursor } },
          { query: `&skip=${middle + 1}`, headers: {} },
        ].filter((_way, way) => (way + turn) % 2 < ENDPOINT_SAMPLES.ways);
        for (const { query, headers } of ways)
          expect(await read(`${path}?dialect=${dialect}${query}`, accept, headers), where + query).toBe(rest);
      }
    }
  });

  it("streams each run to its end", async () => {
    let seen = 0;
    for (const [session] of SESSIONS) {
      const runs = (await log.listRuns(session)).toReversed();
      // Overlapping runs have no separate range of the session.
      if (runs.some(({ status, lastId = 0 }, at) => status === "live" || lastId >= (runs[at + 1]?.firstId ?? Infinity)))
        continue;
      for (const { runId, firstId, lastId } of runs) {
        seen++;
        for (const { dialect, accept, write } of pickForms(seen)) {
          const from = (await gather(openStream(log, session, { dialect, after: firstId - 1 }))).flat();
          const own = from.filter(({ cursor }) => Number(cursor.split(".")[2]) <= (lastId ?? 0));
          const path = `/v1/sessions/${session}/events?follow=true&dialect=${dialect}&run=${encodeURIComponent(runId)}`;
          expect(await read(path, accept), path).toBe(own.map(write).join(""));
        }
      }
    }
    expect(seen).toBeGreaterThan(20);
  });
});

describe("the control socket", () => {
  it("streams every session in every dialect, from any position", async () => {
    const socket = await openControl();
    let seen = 0;
    for (const [turn, [session]] of SESSIONS.entries()) {
      for (const [index, dialect] of DIALECT_NAMES.entries()) {
        if ((index + turn) % ENDPOINT_SAMPLES.dialectStep !== 0) continue;
        const frames = await readLog(session, dialect);
        const where = `${session} ${dialect}`;
        const texts = frames.map(({ text }) => text);
        expect(await socket.read({ session, dialect }), where).toEqual(texts);
        const middle = Math.floor(frames.length / 2);
        const { cursor: after = "" } = frames[middle] ?? {};
        if (after !== "")
          expect(await socket.read({ session, dialect, after }), where).toEqual(texts.slice(middle + 1));
        seen++;
      }
    }
    expect(seen).toBeGreaterThan(SESSIONS.length);
  });
});

/** Opens a control socket that is closed when the test ends. */
async function openControl() {
  const ws = new WebSocket(`${server.url.replace("http", "ws")}/v1/ws`);
  onTestFinished(() => ws.terminate());
  await once(ws, "open");
  let requestCount = 0;
  return {
    /** Resolves to the texts of all frames of the stream. */
    async read(selection: { readonly session: string; readonly dialect: string; readonly after?: string }) {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const texts: string[] = [];
      const onMessage = (data: Buffer): void => {
        const frame = JSON.parse(data.toString()) as { readonly type: string; readonly frames?: readonly string[] };
        if (frame.type === "frames") texts.push(...(frame.frames ?? []));
        else if (frame.type === "end") resolve();
        else if (frame.type === "refusal") reject(new Error(data.toString()));
      };
      const onClose = (): void => reject(new Error("the socket was closed"));
      ws.on("message", onMessage).on("close", onClose);
      ws.send(JSON.stringify({ type: "subscribe", id: String(++requestCount), follow: false, ...selection }));
      await promise.finally(() => ws.off("message", onMessage).off("close", onClose));
      return texts;
    },
  };
}

describe.each(GOLDEN_RUNS.map((run, turn) => ({ ...run, turn })))("$name over HTTP", (played) => {
  const { name, message, answer, turn } = played;
  const session = `live-${name}`;
  const headers = { "content-type": "application/json", "idempotency-key": `key-${name}` };
  const body = JSON.stringify({ message, agent: name });
  let run: RunInfo;

  beforeAll(async () => {
    const live = await ask(`/v1/sessions/${session}/runs`, {
      method: "POST",
      headers: { ...headers, accept: "text/event-stream" },
      body,
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

  it.each(pickForms(turn))("replays the run in $dialect as $name for the same idempotency key", async (form) => {
    const { dialect, accept, write } = form;
    const frames = await readLog(session, dialect);
    const path = `/v1/sessions/${session}/runs?dialect=${dialect}`;
    const again = await ask(path, { method: "POST", headers: { ...headers, accept }, body });
    expect(await again.text()).toBe(frames.map(write).join(""));
    const at = frames.length >> 1;
    const cut = { ...headers, accept, "last-event-id": frames[at]?.cursor ?? "" };
    const rest = await ask(path, { method: "POST", headers: cut, body });
    expect(await rest.text()).toBe(
      frames
        .slice(at + 1)
        .map(write)
        .join(""),
    );
    expect(await log.listRuns(session)).toEqual([run]);
  });

  it("replays the run over the chat endpoint (003)", async () => {
    const frames = await readLog(session, "engine");
    const [{ write, accept }] = FRAMINGS;
    const body = JSON.stringify({ session_id: session, content: message, agent: name });
    const whole = frames.map(write).join("");
    expect(await (await ask("/api/chat", { method: "POST", headers, body })).text()).toBe(whole);
    expect(await read(`/api/chat?session_id=${session}`, accept)).toBe(whole);
    const step = Math.max(1, Math.floor(frames.length / ENDPOINT_SAMPLES.cuts));
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

describe("a store that fails", () => {
  const post = (body: object, accept = "text/event-stream"): RequestInit => ({
    method: "POST",
    headers: { "content-type": "application/json", accept },
    body: JSON.stringify(body),
  });
  const messages = [{ id: "u", role: "user", content: "Hi", parts: [{ type: "text", text: "Hi" }] }];
  const agUi = { runId: "r", messages, state: {}, tools: [], context: [], forwardedProps: {} };
  const REQUESTS: readonly (readonly [path: string, init: RequestInit])[] = [
    ["/api/chat", post({ session_id: "chat", content: "Hi" })],
    ["/api/chat?session_id=chat", {}],
    ["/v1/sessions/chat/events?follow=true", {}],
    ["/v1/sessions/run/runs", post({ message: "Hi" }, "application/x-ndjson")],
    ["/api/chat", post({ id: "ai-sdk", messages })],
    ["/ag-ui", post({ ...agUi, threadId: "ag-ui" })],
    ["/openai/v1/responses", post({ model: "main", input: "Hi", stream: true })],
    ["/openai/v1/chat/completions", post({ model: "main", messages: [{ role: "user", content: "Hi" }], stream: true })],
  ];

  it.runIf(LONG)("cuts every stream, so that no client takes what it has for complete", async () => {
    const store = new MemoryLog();
    const gate = Promise.withResolvers<void>();
    const main = agent({ model: new ScriptedModel(() => ({ text: "Hello.", until: gate.promise })) });
    const failing = await startLoomServer({ log: store, agents: { main }, port: 0 });
    onTestFinished(() => failing.close({ graceMs: 0 }));
    const streams: Response[] = [];
    for (const [path, init] of REQUESTS) streams.push(await fetch(`${failing.url}${path}`, init));
    expect(streams.map(({ status }) => status)).toEqual(REQUESTS.map(() => 200));
    vi.spyOn(store, "peek").mockReturnValue(undefined);
    vi.spyOn(store, "read").mockRejectedValue(new LoomError("store_unavailable", "away"));
    gate.resolve();
    const ends = await Promise.all(
      streams.map((stream) =>
        stream.text().then(
          () => "complete",
          () => "cut",
        ),
      ),
    );
    expect(ends).toEqual(REQUESTS.map(() => "cut"));
  });
});
