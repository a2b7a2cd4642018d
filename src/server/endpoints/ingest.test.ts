// Ingests runs into a real server, chunk by chunk, as a foreign sender would.
import { Agent, request as openRequest, type ClientRequest, type IncomingMessage } from "node:http";
import { setTimeout } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { agent } from "../../agents/index.ts";
import { encodeSse } from "../../framing/index.ts";
import { type Log, MemoryLog } from "../../log/index.ts";
import type { Script } from "../../models/scripted-model.ts";
import { ScriptedModel } from "../../models/testing.ts";
import type { JsonObject } from "../../protocol/index.ts";
import { startLoomServer } from "../loom-server.ts";
import type { ServerLimits } from "../guard/server-limits.ts";

interface Upload {
  readonly request: ClientRequest;
  readonly answer: Promise<{ readonly status: number; readonly body: JsonObject }>;
}

interface FixtureOptions extends Partial<ServerLimits> {
  readonly log?: Log;
  readonly script?: Script;
}

async function createFixture({ log = new MemoryLog(), script = [], ...limits }: FixtureOptions = {}) {
  const agents = { main: agent({ model: new ScriptedModel(script) }) };
  const server = await startLoomServer({ log, agents, port: 0, limits });
  let isClosed = false;
  const close = async () => {
    if (isClosed) return;
    isClosed = true;
    await server.close({ graceMs: 0 });
    await log.close();
  };
  onTestFinished(close);
  const upload = (session: string, query = "", type = "application/x-ndjson", more = {}): Upload => {
    const url = `${server.url}/v1/sessions/${session}/ingest${query}`;
    const request = openRequest(url, { method: "POST", headers: { "content-type": type, ...more } });
    request.on("error", () => undefined);
    onTestFinished(() => void request.destroy());
    request.flushHeaders();
    const answer = new Promise<IncomingMessage>((resolve, reject) =>
      request.on("response", resolve).on("error", reject),
    ).then(async (response) => ({
      status: response.statusCode ?? 0,
      body: JSON.parse(Buffer.concat(await response.toArray()).toString()) as JsonObject,
    }));
    answer.catch(() => undefined);
    return { request, answer };
  };
  const runs = (session: string) => log.listRuns(session).catch(() => []);
  return { log, server, upload, runs, close };
}

const START = { type: "run_start", run_id: "r1", message: "hi", agent: "their-own" };
const RUN: readonly JsonObject[] = [
  START,
  { type: "node_enter", id: "think", run_id: "r1", node_id: "n1" },
  { type: "message_chunk", content: "Hel", id: "think", run_id: "r1", node_id: "n1" },
  { type: "message_chunk", content: "lo", id: "think", run_id: "r1", node_id: "n1" },
  { type: "node_exit", id: "think", result: "Ok", run_id: "r1", node_id: "n1" },
  { reply: "Hello", run_id: "r1", node_id: "n1" },
];

function lines(frames: readonly JsonObject[]): string {
  return frames.map((frame) => `${JSON.stringify(frame)}\n`).join("");
}

test("a run is visible while it arrives and durable when the response is sent", async () => {
  const { log, upload, runs } = await createFixture();
  const { request, answer } = upload("s", "?dialect=loom");
  request.write(lines(RUN.slice(0, 3)));
  await vi.waitFor(async () => expect((await log.read("s", { after: 0 })).records).toHaveLength(3));
  expect(await runs("s")).toMatchObject([{ runId: "r1", status: "live", agent: "their-own" }]);
  request.end(lines(RUN.slice(3)));
  const { status, body } = await answer;
  expect(status).toBe(201);
  expect(body).toMatchObject({
    session_id: "s",
    dialect: "loom",
    frames: 6,
    runs: [{ run_id: "r1", status: "completed", first_event_id: 1, last_event_id: 6 }],
  });
  expect((await log.getSession("s"))?.holder).toBeUndefined();
});

test("detects framing and dialect from the body", async () => {
  const { upload, runs } = await createFixture();
  const asForm = upload("a", "", "application/x-www-form-urlencoded");
  asForm.request.end(lines(RUN));
  expect(await asForm.answer).toMatchObject({ status: 201, body: { dialect: "loom", frames: 6 } });
  const asEvents = upload("b", "", "text/event-stream; charset=utf-8");
  asEvents.request.end(RUN.map((frame) => encodeSse({ data: JSON.stringify(frame) })).join(""));
  expect(await asEvents.answer).toMatchObject({ status: 201, body: { frames: 6 } });
  expect(await runs("b")).toMatchObject([{ status: "completed" }]);
});

test("rejects a compressed body", async () => {
  const { upload, log } = await createFixture();
  const packed = upload("a", "", "application/x-ndjson", { "content-encoding": "gzip" });
  packed.request.end(lines(RUN));
  expect(await packed.answer).toMatchObject({
    status: 415,
    body: { code: "unsupported", details: { header: "content-encoding" } },
  });
  expect(await log.getSession("a")).toBeUndefined();
});

test("rejects the first invalid frame while the sender is still sending", async () => {
  const { log, upload, runs } = await createFixture();
  const { request, answer } = upload("s", "?dialect=loom");
  request.write(
    lines([...RUN.slice(0, 3), { type: "node_exit", id: "act", result: "Ok", run_id: "r1", node_id: "n1" }]),
  );
  const { status, body } = await answer;
  expect(status).toBe(422);
  const details = { line: 4, rule: "span-exit-name", accepted: 3 };
  expect(body).toMatchObject({ code: "ingest_invalid", details });
  request.destroy();
  expect(await runs("s")).toMatchObject([{ status: "error", code: "ingest_invalid" }]);
  const { records } = await log.read("s", { after: 0 });
  expect(records.map(({ event }) => event.type)).toEqual([
    "run_start",
    "node_enter",
    "message_chunk",
    "error",
    "node_exit",
    "run_end",
    "reply",
  ]);
  expect(records.at(-1)?.event).toMatchObject({ reply: "Hel" });
});

test("keeps the connection usable after rejecting a body halfway", async () => {
  const { server } = await createFixture();
  const connection = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => connection.destroy());
  const ask = async (path: string, body: Buffer): Promise<readonly unknown[]> => {
    const { promise, resolve, reject } = Promise.withResolvers<readonly unknown[]>();
    const sent = openRequest(new URL(path, server.url), {
      method: body.length === 0 ? "GET" : "POST",
      agent: connection,
    });
    sent.on("error", reject).on("response", (answer) => {
      answer.resume().on("end", () => resolve([answer.statusCode, sent.reusedSocket]));
    });
    sent.end(body);
    return promise;
  };
  const body = Buffer.alloc(4_000_000, " ");
  body.write("not a frame");
  expect(await ask("/v1/sessions/s/ingest?dialect=loom", body)).toEqual([422, false]);
  // Longer than the HTTP library waits before it closes the connection.
  await setTimeout(600);
  expect(await ask("/healthz", Buffer.alloc(0))).toEqual([200, true]);
});

test("ends the run of a sender that disconnects", async () => {
  const { log, upload, runs } = await createFixture();
  const { request } = upload("s", "?dialect=loom");
  request.write(lines(RUN.slice(0, 3)));
  await vi.waitFor(async () => expect(await runs("s")).toHaveLength(1));
  request.destroy();
  await vi.waitFor(async () => expect(await runs("s")).toMatchObject([{ status: "error", code: "stream_cut" }]));
  await vi.waitFor(async () => expect((await log.getSession("s"))?.holder).toBeUndefined());
});

test("ends the run of a body that stops in the middle", async () => {
  const { upload, runs } = await createFixture();
  const { request, answer } = upload("s", "?dialect=loom");
  request.end(lines(RUN.slice(0, 3)));
  const ended = [{ run_id: "r1", status: "error", code: "stream_cut" }];
  expect(await answer).toMatchObject({ status: 201, body: { frames: 3, runs: ended } });
  expect(await runs("s")).toMatchObject([{ status: "error", code: "stream_cut" }]);
});

test("rejects a body without records and creates no session", async () => {
  const { log, upload } = await createFixture();
  for (const body of ["", "\n", '{"type":"run_st']) {
    const { request, answer } = upload("s", "?dialect=loom");
    request.end(body);
    expect(await answer).toMatchObject({ status: 422, body: { code: "ingest_invalid" } });
    expect(await log.getSession("s")).toBeUndefined();
  }
});

test("answers messages received during an ingest afterwards", async () => {
  const { log, upload, runs } = await createFixture({ script: [{ text: "Yes." }] });
  const first = upload("s", "?dialect=loom");
  first.request.write(lines(RUN.slice(0, 3)));
  await vi.waitFor(async () => expect(await runs("s")).toHaveLength(1));
  await log.submit({ commandId: "m1", sessionId: "s", kind: "enqueue", body: { message: "hello?" } });
  first.request.end(lines(RUN.slice(3)));
  expect(await first.answer).toMatchObject({ status: 201 });
  await vi.waitFor(async () =>
    expect((await runs("s")).map(({ status }) => status)).toEqual(["completed", "completed"]),
  );
});

test("accepts one ingest per session at a time", async () => {
  const { upload, runs } = await createFixture();
  const first = upload("s", "?dialect=loom");
  first.request.write(lines(RUN.slice(0, 3)));
  await vi.waitFor(async () => expect(await runs("s")).toHaveLength(1));
  const second = upload("s", "?dialect=loom");
  second.request.end(lines(RUN));
  expect(await second.answer).toMatchObject({ status: 409, body: { code: "run_live", details: { run_id: "r1" } } });
  first.request.end(lines(RUN.slice(3)));
  expect(await first.answer).toMatchObject({ status: 201 });
});

test("renames a run whose id is taken, or rejects it on request", async () => {
  const { upload, runs } = await createFixture();
  for (const query of ["?dialect=loom", "?dialect=loom", "?dialect=loom&when_taken=refuse"]) {
    const { request, answer } = upload("s", query);
    request.end(lines(RUN));
    const { status, body } = await answer;
    if (query.endsWith("refuse")) expect([status, body["code"]]).toEqual([409, "run_exists"]);
    else expect(status).toBe(201);
  }
  expect((await runs("s")).map(({ runId }) => runId)).toEqual(["r1-7", "r1"]);
});

test("rejects a body that is too large or too slow, and ends its run", async () => {
  const { upload, runs } = await createFixture({ maxIngestBytes: 600, ingestIdleMs: 30 });
  const large = upload("a", "?dialect=loom");
  large.request.write(lines(RUN.slice(0, 3)));
  large.request.write(lines([{ type: "custom", value: "x".repeat(600), run_id: "r1" }]));
  expect(await large.answer).toMatchObject({ status: 413, body: { code: "body_too_large" } });
  expect(await runs("a")).toMatchObject([{ status: "error", code: "body_too_large" }]);
  const slow = upload("b", "?dialect=loom");
  slow.request.write(lines(RUN.slice(0, 3)));
  expect(await slow.answer).toMatchObject({ status: 408, body: { code: "request_timeout" } });
  expect(await runs("b")).toMatchObject([{ status: "error", code: "request_timeout" }]);
});

test.each([0, 100])("a run can be cancelled while it arrives, also behind %i queued messages", async (queued) => {
  const { log, upload, runs } = await createFixture();
  const { request, answer } = upload("s", "?dialect=loom");
  request.write(lines(RUN.slice(0, 3)));
  await vi.waitFor(async () => expect(await runs("s")).toHaveLength(1));
  for (let n = 0; n < queued; n++)
    await log.submit({ commandId: `m${n}`, sessionId: "s", kind: "enqueue", body: { run_id: `m${n}`, message: "Hi" } });
  await log.submit({ commandId: "c1", sessionId: "s", kind: "cancel", body: { run_id: "r1" } });
  expect(await answer).toMatchObject({ status: 409, body: { code: "run_ended" } });
  expect(await log.getRun("s", "r1")).toMatchObject({ status: "cancelled", code: "cancelled" });
  expect(await log.getCommand("s", "c1")).toMatchObject({ outcome: { code: "done" } });
});

test("ends the run when the server shuts down", async () => {
  const log = new MemoryLog();
  const { server, upload, runs } = await createFixture({ log });
  const { request, answer } = upload("s", "?dialect=loom");
  request.write(lines(RUN.slice(0, 3)));
  await vi.waitFor(async () => expect(await runs("s")).toHaveLength(1));
  const closing = server.close({ graceMs: 0 });
  expect(await answer).toMatchObject({ status: 503, body: { code: "shutting_down" } });
  expect(await runs("s")).toMatchObject([{ status: "error", code: "shutting_down" }]);
  request.destroy();
  await closing;
});
