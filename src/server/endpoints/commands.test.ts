import { describe, expect, it } from "vitest";
import { createServerFixture } from "../../../test/server/server-fixture.ts";
import { openSession } from "../../engine/index.ts";
import type { JsonObject } from "../../protocol/index.ts";

const REMOVE = { name: "remove", input: { path: "old.log" }, id: "call_rm" };

/** Starts a run that waits for approval. */
async function createWaitingFixture() {
  const fixture = await createServerFixture({ script: [{ calls: [REMOVE] }, { text: "Done." }] });
  const { ask, log } = fixture;
  await ask("POST", "/v1/sessions/s/runs", { message: "Clean up", run_id: "r" }, { status: 202 });
  const list = async () => (await ask("GET", "/v1/sessions/s/approvals"))["approvals"] as readonly JsonObject[];
  await expect.poll(list).toHaveLength(1);
  const untilEnded = async () => {
    await expect.poll(async () => (await log.getRun("s", "r"))?.status).not.toBe("live");
  };
  return { ...fixture, list, untilEnded };
}

describe("a message sent as a command", () => {
  it("refers only to existing blobs and takes their description from the store", async () => {
    const { ask, core, log } = await createServerFixture({ script: [{ text: "Seen." }] });
    const blob = await core.blobs?.put("s", [new Uint8Array([7])], { mediaType: "image/png", name: "x.png" });
    const say = (id: string, blob_id = "", more = {}) => ({
      type: "run",
      id,
      session: "s",
      message: "Look",
      attachments: [{ blob_id, ...more }],
    });
    const path = "/v1/sessions/s/commands";
    expect(await ask("POST", path, say("1", "none"), { status: 404 })).toMatchObject({ code: "unknown_blob" });
    await ask("POST", path, say("2", blob?.blobId, { media_type: "text/html" }), { status: 400 });
    await ask("POST", path, say("2", blob?.blobId));
    const { records } = await log.read("s", { after: 0, limit: 1 });
    expect(records[0]?.event).toMatchObject({ attachments: [{ name: "x.png", media_type: "image/png", bytes: 1 }] });
  });
});

describe("an approval", () => {
  it("is listed, and can be answered once with edited arguments", async () => {
    const { ask, list, ran, untilEnded } = await createWaitingFixture();
    expect(await list()).toMatchObject([
      { call_id: "call_rm", run_id: "r", name: "remove", arguments: { path: "old.log" } },
    ]);
    expect((await list())[0]?.["expires_at"]).toBeGreaterThan(Date.now());
    const body = { decision: "approved", arguments: { path: "older.log" } };
    const headers = { "idempotency-key": "yes" };
    const answered = await ask("POST", "/v1/sessions/s/approvals/call_rm", body, { headers });
    expect(answered).toMatchObject({ type: "ack", id: "yes", result: { event_id: expect.any(Number) as unknown } });
    await untilEnded();
    expect(ran).toEqual([["remove", { path: "older.log" }]]);
    expect(await list()).toEqual([]);
    expect(await ask("POST", "/v1/sessions/s/approvals/call_rm", body, { headers })).toEqual(answered);
    const late = { decision: "rejected", run_id: "r" };
    expect(await ask("POST", "/v1/sessions/s/approvals/call_rm", late, { status: 409 })).toHaveProperty("code");
  });

  it("is listed with its run over all sessions, until it is answered", async () => {
    const { ask, log, untilEnded } = await createWaitingFixture();
    await ask("PATCH", "/v1/sessions/s", { title: "Old files" });
    const message = { message: "And then?", run_id: "next" };
    await ask("POST", "/v1/sessions/s/runs", message, { status: 202 });
    await log.createSession("idle");
    const { runs } = await ask("GET", "/v1/runs");
    const about = { session_id: "s", title: "Old files", agent: "main" };
    const approval = { call_id: "call_rm", name: "remove", arguments: { path: "old.log" } };
    expect(runs).toMatchObject([
      { ...about, run_id: "r", state: "waiting", approvals: [approval] },
      { ...about, run_id: "next", state: "queued", approvals: [] },
    ]);
    expect(await ask("GET", "/v1/runs?state=waiting")).toEqual({ runs });
    expect(await ask("GET", "/v1/runs?state=idle", undefined, { status: 400 })).toHaveProperty("code");
    await ask("POST", "/v1/sessions/s/runs/next/cancel", {});
    await ask("POST", "/v1/sessions/s/approvals/call_rm", { decision: "rejected", run_id: "r" });
    await untilEnded();
    expect(await ask("GET", "/v1/runs")).toEqual({ runs: [] });
  });

  it("is listed without its arguments if they are large", async () => {
    const { ask, log } = await createServerFixture();
    const session = await openSession(log, "s");
    const run = await session.startRun({ runId: "r" });
    void run.requestApproval({ callId: "c", name: "write", arguments: { text: "x".repeat(17_000) } });
    await expect.poll(async () => (await log.listActiveSessions({ isWaiting: true })).length).toBe(1);
    const { runs } = await ask("GET", "/v1/runs");
    expect(runs).toMatchObject([{ approvals: [{ call_id: "c", name: "write" }] }]);
    expect(runs).not.toHaveProperty("0.approvals.0.arguments");
    await session.close();
  });

  it("is rejected for an unknown call or an invalid decision", async () => {
    const { ask, list } = await createWaitingFixture();
    const refuse = (call: string, body: unknown, status: number) =>
      ask("POST", `/v1/sessions/s/approvals/${call}`, body, { status });
    expect(await refuse("call_rm", { decision: "perhaps" }, 400)).toMatchObject({ code: "invalid_request" });
    expect(await refuse("call_rm", undefined, 400)).toMatchObject({ code: "invalid_request" });
    expect(await refuse("other", { decision: "approved" }, 404)).toMatchObject({ code: "unknown_call" });
    expect(await list()).toHaveLength(1);
  });
});

const LOCATE = { name: "locate", input: { precise: true }, id: "call_at" };

/** Starts a run that waits for the client. */
async function createClientFixture() {
  const fixture = await createServerFixture({ script: [{ calls: [LOCATE] }, { text: "Lisbon, then." }] });
  const { ask, log } = fixture;
  const client_tools = [{ name: "locate", description: "Returns the position.", input_schema: { type: "object" } }];
  await ask("POST", "/v1/sessions/s/runs", { message: "Where?", run_id: "r", client_tools }, { status: 202 });
  const list = async () => (await ask("GET", "/v1/sessions/s/calls"))["calls"] as readonly JsonObject[];
  await expect.poll(list).toHaveLength(1);
  const untilEnded = async () => {
    await expect.poll(async () => (await log.getRun("s", "r"))?.status).not.toBe("live");
  };
  return { ...fixture, list, untilEnded };
}

describe("a tool call that the client carries out", () => {
  it("is listed, and its first result continues the run", async () => {
    const { ask, list, log, untilEnded } = await createClientFixture();
    expect(await list()).toMatchObject([
      { call_id: "call_at", run_id: "r", name: "locate", arguments: { precise: true } },
    ]);
    expect((await list())[0]?.["expires_at"]).toBeGreaterThan(Date.now());
    expect(await ask("GET", "/v1/sessions/s/approvals")).toEqual({ approvals: [] });
    const headers = { "idempotency-key": "here" };
    const body = { output: { city: "Lisbon" } };
    const answered = await ask("POST", "/v1/sessions/s/calls/call_at/result", body, { headers });
    expect(answered).toMatchObject({ type: "ack", id: "here", result: { event_id: expect.any(Number) as unknown } });
    await untilEnded();
    expect((await log.getRun("s", "r"))?.status).toBe("completed");
    expect(await list()).toEqual([]);
    expect(await ask("POST", "/v1/sessions/s/calls/call_at/result", body, { headers })).toEqual(answered);
    const late = { output: "Porto", run_id: "r" };
    expect(await ask("POST", "/v1/sessions/s/calls/call_at/result", late, { status: 409 })).toHaveProperty("code");
  });

  it("refuses the result of an unknown call, and one that is not valid", async () => {
    const { ask, list } = await createClientFixture();
    const refuse = (call: string, body: unknown, status: number) =>
      ask("POST", `/v1/sessions/s/calls/${call}/result`, body, { status });
    expect(await refuse("call_at", { is_error: "yes" }, 400)).toMatchObject({ code: "invalid_request" });
    expect(await refuse("other", { output: "x" }, 404)).toMatchObject({ code: "unknown_call" });
    expect(await refuse("call_at", { output: "x".repeat(70_000) }, 400)).toMatchObject({ code: "invalid_command" });
    expect(await list()).toHaveLength(1);
  });

  it("ends with its run when the run is cancelled", async () => {
    const { ask, list, untilEnded } = await createClientFixture();
    await ask("POST", "/v1/sessions/s/runs/r/cancel", {});
    await untilEnded();
    expect(await list()).toEqual([]);
    expect(await ask("POST", "/v1/sessions/s/calls/call_at/result", { output: "x" }, { status: 404 })).toMatchObject({
      code: "unknown_call",
    });
  });

  it("must have a name that no tool of the agent has, and a valid declaration", async () => {
    const { ask, log } = await createServerFixture({ script: [] });
    const start = (client_tools: unknown) =>
      ask("POST", "/v1/sessions/s/runs", { message: "Hi", client_tools }, { status: 400 });
    expect(await start([{ name: "remove" }])).toMatchObject({
      code: "invalid_command",
      detail: expect.stringContaining("remove") as unknown,
    });
    expect(await start([{ name: "a b" }])).toMatchObject({ code: "invalid_command" });
    expect(await start([{ name: "a", input_schema: { type: "array" } }])).toMatchObject({ code: "invalid_command" });
    expect(await start("remove")).toMatchObject({ code: "invalid_request" });
    expect(await log.getSession("s")).toBeUndefined();
  });
});

describe("cancel", () => {
  it("ends a run, and has no effect on one that has ended", async () => {
    const { ask, log, untilEnded, ran } = await createWaitingFixture();
    const stopped = await ask("POST", "/v1/sessions/s/runs/r/cancel", { reason: "enough" });
    expect(stopped).toMatchObject({ type: "ack", result: { event_id: expect.any(Number) as unknown } });
    await untilEnded();
    expect((await log.getRun("s", "r"))?.status).toBe("cancelled");
    expect(ran).toEqual([]);
    expect(await ask("POST", "/v1/sessions/s/runs/r/cancel")).toMatchObject({ result: { effect: false } });
  });

  it("of an unknown run is pending", async () => {
    const { ask, log } = await createServerFixture({ limits: { commandTimeoutMs: 20 } });
    await log.createSession("s");
    const headers = { "idempotency-key": "k" };
    const waits = await ask("POST", "/v1/sessions/s/runs/soon/cancel", {}, { status: 202, headers });
    expect(waits).toEqual({ type: "ack", id: "k", pending: true });
  });
});

describe("a to-do list", () => {
  it("is changed item by item", async () => {
    const { ask, log } = await createServerFixture({ script: [] });
    const session = await openSession(log, "s");
    await session.record({ type: "todo_list", list_id: "l", items: [{ id: "i", text: "Pack", completed: false }] });
    await session.close();
    const done = await ask("PATCH", "/v1/sessions/s/todos/l/i", { completed: true, text: "Pack all" });
    expect(done).toMatchObject({ type: "ack", result: { event_id: 2 } });
    const { records } = await log.read("s", { after: 1 });
    expect(records[0]?.event).toMatchObject({ type: "todo_update", completed: true, text: "Pack all" });
    const refuse = (path: string, body: unknown, status: number) => ask("PATCH", path, body, { status });
    expect(await refuse("/v1/sessions/s/todos/l/j", { completed: true }, 404)).toMatchObject({ code: "unknown_todo" });
    expect(await refuse("/v1/sessions/s/todos/l/i", {}, 400)).toMatchObject({ code: "invalid_command" });
    expect(await refuse("/v1/sessions/s/todos/l/i", { completed: 1 }, 400)).toMatchObject({ code: "invalid_request" });
  });
});

describe("a control frame as a request body", () => {
  it("is the same command as on any other endpoint", async () => {
    const { ask, log } = await createServerFixture({ script: [{ text: "Yes." }] });
    const run = { type: "run", id: "k", session: "s", message: "Well?", run_id: "r" };
    const first = await ask("POST", "/v1/sessions/s/commands", run);
    expect(first).toMatchObject({ type: "ack", id: "k", result: { run_id: "r" } });
    const headers = { "idempotency-key": "k" };
    const { message, run_id } = run;
    await expect.poll(async () => (await log.getRun("s", "r"))?.status).toBe("completed");
    expect(await ask("POST", "/v1/sessions/s/runs", { message, run_id }, { headers })).toMatchObject({ run_id: "r" });
    expect(await log.listRuns("s")).toHaveLength(1);
  });

  it("is rejected if it is not a command or names another session", async () => {
    const { ask } = await createServerFixture();
    const refuse = (body: unknown) => ask("POST", "/v1/sessions/s/commands", body, { status: 400 });
    expect(await refuse({ type: "subscribe", id: "1", session: "s" })).toMatchObject({ code: "invalid_request" });
    expect(await refuse({ type: "cancel", id: "1", session: "s" })).toMatchObject({ code: "invalid_command" });
    expect(await refuse({ type: "cancel", id: "1", session: "t", run_id: "r" })).toMatchObject({
      code: "invalid_command",
    });
  });
});
