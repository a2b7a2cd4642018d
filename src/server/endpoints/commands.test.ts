import { describe, expect, it } from "vitest";
import { setServerStage } from "../../../test/server/stage.ts";
import { openSession } from "../../engine/index.ts";
import type { JsonObject } from "../../protocol/index.ts";

const REMOVE = { name: "remove", input: { path: "old.log" }, id: "call_rm" };

/** A run that waits for consent. */
async function setWaiting() {
  const stage = await setServerStage({ script: [{ calls: [REMOVE] }, { text: "Done." }] });
  const { ask, log } = stage;
  await ask("POST", "/v1/sessions/s/runs", { message: "Clean up", run_id: "r" }, { status: 202 });
  const list = async () => (await ask("GET", "/v1/sessions/s/approvals"))["approvals"] as readonly JsonObject[];
  await expect.poll(list).toHaveLength(1);
  const untilEnded = async () => {
    await expect.poll(async () => (await log.getRun("s", "r"))?.status).not.toBe("live");
  };
  return { ...stage, list, untilEnded };
}

describe("a message as a command", () => {
  it("speaks of files that are there, and of no others, whatever it says of them", async () => {
    const { ask, core, log } = await setServerStage({ script: [{ text: "Seen." }] });
    const blob = await core.blobs?.put("s", [new Uint8Array([7])], { mediaType: "image/png", name: "x.png" });
    const say = (id: string, blob_id = "") => ({
      type: "run",
      id,
      session: "s",
      message: "Look",
      attachments: [{ blob_id, media_type: "text/html", bytes: 5 }],
    });
    const path = "/v1/sessions/s/commands";
    expect(await ask("POST", path, say("1", "none"), { status: 404 })).toMatchObject({ code: "unknown_blob" });
    await ask("POST", path, say("2", blob?.blobId));
    const { records } = await log.read("s", { after: 0, limit: 1 });
    expect(records[0]?.event).toMatchObject({ attachments: [{ name: "x.png", media_type: "image/png", bytes: 1 }] });
  });
});

describe("a call that waits for consent", () => {
  it("is listed with what it would do, and answered once, with arguments that may be edited", async () => {
    const { ask, list, ran, untilEnded } = await setWaiting();
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

  it("is refused where it is another, or the answer is none", async () => {
    const { ask, list } = await setWaiting();
    const refuse = (call: string, body: unknown, status: number) =>
      ask("POST", `/v1/sessions/s/approvals/${call}`, body, { status });
    expect(await refuse("call_rm", { decision: "perhaps" }, 400)).toMatchObject({ code: "invalid_request" });
    expect(await refuse("call_rm", undefined, 400)).toMatchObject({ code: "invalid_request" });
    expect(await refuse("other", { decision: "approved" }, 404)).toMatchObject({ code: "unknown_call" });
    expect(await list()).toHaveLength(1);
  });
});

describe("stop", () => {
  it("stops a run, once, and is no mistake when it is over", async () => {
    const { ask, log, untilEnded, ran } = await setWaiting();
    const stopped = await ask("POST", "/v1/sessions/s/runs/r/cancel", { reason: "enough" });
    expect(stopped).toMatchObject({ type: "ack", result: { event_id: expect.any(Number) as unknown } });
    await untilEnded();
    expect((await log.getRun("s", "r"))?.status).toBe("cancelled");
    expect(ran).toEqual([]);
    expect(await ask("POST", "/v1/sessions/s/runs/r/cancel")).toMatchObject({ result: { effect: false } });
  });

  it("of a run that nobody has heard of waits for it", async () => {
    const { ask, log } = await setServerStage({ limits: { commandTimeoutMs: 20 } });
    await log.createSession("s");
    const headers = { "idempotency-key": "k" };
    const waits = await ask("POST", "/v1/sessions/s/runs/soon/cancel", {}, { status: 202, headers });
    expect(waits).toEqual({ type: "ack", id: "k", pending: true });
  });
});

describe("a to-do list", () => {
  it("is changed item by item, for all who look", async () => {
    const { ask, log } = await setServerStage({ script: [] });
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

describe("a control frame as a body", () => {
  it("is the same command as by any other door", async () => {
    const { ask, log } = await setServerStage({ script: [{ text: "Yes." }] });
    const run = { type: "run", id: "k", session: "s", message: "Well?", run_id: "r" };
    const first = await ask("POST", "/v1/sessions/s/commands", run);
    expect(first).toMatchObject({ type: "ack", id: "k", result: { run_id: "r" } });
    const headers = { "idempotency-key": "k" };
    const { message, run_id } = run;
    await expect.poll(async () => (await log.getRun("s", "r"))?.status).toBe("completed");
    expect(await ask("POST", "/v1/sessions/s/runs", { message, run_id }, { headers })).toMatchObject({ run_id: "r" });
    expect(await log.listRuns("s")).toHaveLength(1);
  });

  it("is refused where it is none, or of another session", async () => {
    const { ask } = await setServerStage();
    const refuse = (body: unknown) => ask("POST", "/v1/sessions/s/commands", body, { status: 400 });
    expect(await refuse({ type: "subscribe", id: "1", session: "s" })).toMatchObject({ code: "invalid_request" });
    expect(await refuse({ type: "cancel", id: "1", session: "s" })).toMatchObject({ code: "invalid_command" });
    expect(await refuse({ type: "cancel", id: "1", session: "t", run_id: "r" })).toMatchObject({
      code: "invalid_command",
    });
  });
});
