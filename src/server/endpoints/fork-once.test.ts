import { describe, expect, it } from "vitest";
import { makeGraphRun, makeRun, writeRecords } from "../../../test/log-sessions.ts";
import { type ServerFixture, createServerFixture } from "../../../test/server/server-fixture.ts";
import { agent } from "../../agents/index.ts";
import { forkBeforeRun, forkSession, listCheckpoints } from "../../log/index.ts";
import { OfflineModel } from "../../models/index.ts";
import type { ForkedSession, Run } from "../api/shapes.generated.ts";
import { updateConversation } from "./conversation-versions.ts";

/** Sends a message and returns the final status of its run. */
async function say({ ask }: ServerFixture, session: string, message: string, run_id: string): Promise<string> {
  const path = `/v1/sessions/${session}/runs`;
  await ask("POST", path, { message, run_id }, { status: 202 });
  const readStatus = async (): Promise<string> => ((await ask("GET", `${path}/${run_id}`)) as unknown as Run).status;
  await expect.poll(readStatus, { timeout: 10_000 }).not.toBe("live");
  return readStatus();
}

describe("a fork before a run", () => {
  it("contains the conversation before it and waits for a message", async () => {
    const prompts: unknown[] = [];
    const model = new OfflineModel();
    const { doStream } = model;
    model.doStream = (request) => {
      prompts.push(JSON.stringify(request.prompt));
      return doStream.call(model, request);
    };
    const fixture = await createServerFixture({ agents: { main: agent({ model }) } });
    const { ask, log } = fixture;
    expect(await say(fixture, "s", "My name is Ada", "r1")).toBe("completed");
    expect(await say(fixture, "s", "Cause an error", "r2")).toBe("error");
    expect(await say(fixture, "s", "What is 6*7?", "r3")).toBe("completed");
    const forked = await ask("POST", "/v1/sessions/s/fork", { before_run: "r3", session_id: "t" }, { status: 201 });
    expect(forked).toMatchObject({ session_id: "t", title: "My name is Ada" });
    expect(forked).not.toHaveProperty("checkpoint_id");
    const { first_event_id: start } = (await ask("GET", "/v1/sessions/s/runs/r3")) as unknown as Run;
    const origin = { session_id: "s", run_id: "r3", event_id: start - 1 };
    expect(forked).toMatchObject({ forked_from: origin, root_id: "s" });
    expect(await ask("GET", "/v1/sessions/t")).toMatchObject({
      forked_from: origin,
      root_id: "s",
      is_busy: false,
      runs: [
        { run_id: "r2", status: "error" },
        { run_id: "r1", status: "completed" },
      ],
    });
    const before = prompts.length;
    expect(await say(fixture, "t", "What is 7*8?", "r4")).toBe("completed");
    const asked = prompts.slice(before).join("");
    expect(asked).toContain("My name is Ada");
    expect(asked).not.toContain("6*7");
    expect((await log.listRuns("s")).map(({ runId }) => runId)).toEqual(["r3", "r2", "r1"]);
    expect(fixture.core.runs.liveRuns).toBe(0);
  });

  it("is empty before the first run and titled by its next message", async () => {
    const fixture = await createServerFixture({ agents: { main: agent({ model: new OfflineModel() }) } });
    const { ask } = fixture;
    await say(fixture, "s", "What is 6*7?", "r1");
    const forked = await ask("POST", "/v1/sessions/s/fork", { before_run: "r1" }, { status: 201 });
    const { session_id: id } = forked as unknown as ForkedSession;
    expect(await ask("GET", `/v1/sessions/${id}`)).toMatchObject({ runs: [], last_event_id: 0 });
    expect(await say(fixture, id, "What is 7*8?", "r2")).toBe("completed");
    expect(await ask("GET", `/v1/sessions/${id}`)).toMatchObject({ title: "What is 7*8?" });
  });

  it("is returned again for its key, but not for another run", async () => {
    const fixture = await createServerFixture({ agents: { main: agent({ model: new OfflineModel() }) } });
    const { ask, log } = fixture;
    for (const run of ["r1", "r2", "r3"]) await say(fixture, "s", "Hello", run);
    for (const [key, run] of [
      ["first", "r1"],
      ["second", "r2"],
    ] as const) {
      const headers = { "idempotency-key": key };
      const again = (body: unknown, status: number) => ask("POST", "/v1/sessions/s/fork", body, { status, headers });
      const { session_id: id } = (await again({ before_run: run }, 201)) as unknown as ForkedSession;
      expect(await again({ before_run: run }, 200)).toMatchObject({ session_id: id });
      await say(fixture, id, "Something else", `${run}-other`);
      expect(await again({ before_run: run }, 200)).toMatchObject({ session_id: id });
      const other = run === "r1" ? "r2" : "r1";
      expect(await again({ before_run: other }, 409)).toMatchObject({ code: "command_conflict" });
      expect(await again({ before_run: "r3" }, 409)).toMatchObject({ code: "command_conflict" });
    }
    const named = { before_run: "r1", session_id: "mine" };
    const headers = { "idempotency-key": "k" };
    await ask("POST", "/v1/sessions/s/fork", named, { status: 201, headers });
    await ask("POST", "/v1/sessions/s/fork", named, { headers });
    await ask("POST", "/v1/sessions/s/fork", named, { status: 409 });
    await say(fixture, "mine", "Something else", "r9");
    await ask("POST", "/v1/sessions/s/fork", named, { headers });
    const other = { ...named, before_run: "r2" };
    expect(await ask("POST", "/v1/sessions/s/fork", other, { status: 409, headers })).toMatchObject({
      code: "session_exists",
    });
    expect(await log.listSessions()).toHaveLength(4);
  });

  it("contains the blobs, and images have new URLs", async () => {
    const { ask, log, core } = await createServerFixture();
    const blob = await core.blobs?.put("s", [new Uint8Array([7, 8])], { mediaType: "image/png", name: "x.png" });
    const url = `/v1/sessions/s/blobs/${blob?.blobId}`;
    const image = { envelope: { session_id: "s", event_id: 1, ts: 0 }, event: { type: "image", url } } as const;
    await writeRecords(log, [image, ...makeRun("r", { after: 1 })]);
    await ask("POST", "/v1/sessions/s/fork", { before_run: "r", session_id: "t" }, { status: 201 });
    await ask("DELETE", "/v1/sessions/s", undefined, { status: 204 });
    const { records } = await log.read("t", { after: 0 });
    expect(records[0]?.event).toMatchObject({ url: `/v1/sessions/t/blobs/${blob?.blobId}` });
    expect(await core.blobs?.get("t", blob?.blobId ?? "")).toMatchObject({ name: "x.png" });
  });

  it("is rejected with a second fork point, with state, or for an unknown run", async () => {
    const { ask, log } = await createServerFixture();
    await writeRecords(log, makeGraphRun("r"));
    const refuse = (body: unknown, status: number) => ask("POST", "/v1/sessions/s/fork", body, { status });
    expect(await refuse({ before_run: "r", after_event: 3 }, 400)).toMatchObject({ code: "invalid_request" });
    expect(await refuse({ before_run: "r", state: {} }, 400)).toMatchObject({ code: "invalid_request" });
    expect(await refuse({ before_run: "none" }, 404)).toMatchObject({ code: "unknown_run" });
    expect(await refuse({ before_run: "r", session_id: "s" }, 409)).toMatchObject({ code: "session_exists" });
  });
});

describe("a conversation", () => {
  it("is renamed with the versions that appear meanwhile", async () => {
    const { log } = await createServerFixture();
    await writeRecords(log, makeRun("r"));
    const fork = (from: string, to: string) => forkBeforeRun(log, { from, to, isVersion: true });
    await fork("s", "t");
    const appearing = [() => fork("s", "u"), () => fork("u", "v")];
    // Called after the versions were listed, and before they are changed.
    const authorize = async (): Promise<void> => void (await appearing.shift()?.());
    expect(await updateConversation(log, "s", { title: "New", isPinned: true }, authorize)).toMatchObject({
      title: "New",
    });
    const versions = await log.listBranches("s");
    expect(versions.map(({ sessionId }) => sessionId)).toEqual(["s", "t", "u", "v"]);
    for (const version of versions) expect(version).toMatchObject({ title: "New", isPinned: true });
  });
});

describe("a fork at a checkpoint", () => {
  it("is listed as a run that started with the fork", async () => {
    const { ask, log } = await createServerFixture();
    await writeRecords(log, makeGraphRun("r"));
    const { createdAt } = await forkSession(log, { from: "s", checkpointId: "r-1", to: "t" });
    const { runs } = await ask("GET", "/v1/runs");
    expect(runs).toMatchObject([{ session_id: "t", run_id: "r", since: createdAt }]);
  });

  it("exists only if the run can continue with the edited state", async () => {
    const fixture = await createServerFixture({ agents: { main: agent({ model: new OfflineModel() }) } });
    const { ask, log } = fixture;
    await say(fixture, "s", "What is 6*7?", "r1");
    const checkpoint = (await listCheckpoints(log, "s")).at(-1);
    const fork = (state: unknown, status: number) => {
      const body = { checkpoint_id: checkpoint?.checkpointId, session_id: "t", state };
      return ask("POST", "/v1/sessions/s/fork", body, { status });
    };
    const ask8 = (content: unknown, role: unknown = "user") => ({ messages: [{ role, content }] });
    const text = { type: "text", text: "What is 8*8?" };
    const wrong: readonly (readonly [state: unknown, path: string])[] = [
      [{ ...ask8([text]), unknown: 1 }, "state.unknown"],
      [{ messages: "What is 8*8?" }, "state.messages"],
      [{ malformed: [] }, "state.malformed"],
      [{ messages: [null] }, "state.messages[0]"],
      [ask8("What is 8*8?"), "state.messages[0].content"],
      [ask8([]), "state.messages[0].content"],
      [ask8([text], "constructor"), "state.messages[0].role"],
      [ask8(["What is 8*8?"]), "state.messages[0].content[0]"],
      [ask8([text, { type: "reasoning", text: "" }]), "state.messages[0].content[1].type"],
      [ask8([{ type: "text", text: 8 }]), "state.messages[0].content[0].text"],
      [ask8([{ type: "attachment", blobId: "b", mediaType: "image/png" }]), "state.messages[0].content[0].bytes"],
      [
        ask8([{ type: "tool-call", toolCallId: "c", toolName: "t", input: "{}" }], "assistant"),
        "state.messages[0].content[0].input",
      ],
      [
        ask8([{ type: "tool-result", toolCallId: "c", toolName: "t", output: { type: "text", value: 1 } }], "tool"),
        "state.messages[0].content[0].output",
      ],
    ];
    for (const [state, path] of wrong)
      expect(await fork(state, 400)).toMatchObject({ code: "invalid_event", details: { path } });
    expect(await log.getSession("t")).toBeUndefined();
    await fork(ask8([text]), 201);
    await expect.poll(async () => (await log.listRuns("t"))[0]?.status, { timeout: 10_000 }).toBe("completed");
    const { records } = await log.read("t", { after: checkpoint?.eventId ?? 0 });
    expect(records.find(({ event }) => event.type === "error")?.event).toMatchObject({
      details: { state_edited: true },
    });
    expect(records.at(-1)?.event).toMatchObject({ type: "reply", reply: expect.stringContaining("8*8") as unknown });
  });
});

describe("a fork without a fork point", () => {
  it("copies everything that has ended, without the live run and queued messages", async () => {
    const agents = {
      main: agent({ model: new OfflineModel() }),
      slow: agent({ model: new OfflineModel({ delayMs: 60 }) }),
    };
    const fixture = await createServerFixture({ agents });
    const { ask, log, core } = fixture;
    const fork = (session_id: string) =>
      ask("POST", "/v1/sessions/s/fork", { session_id, title: "Copy" }, { status: 201 });
    await say(fixture, "s", "Hello", "r1");
    const { last_event_id: last } = await ask("GET", "/v1/sessions/s");
    const copy = await fork("t");
    expect(copy).toMatchObject({ title: "Copy", last_event_id: last });
    expect(copy).not.toHaveProperty("checkpoint_id");
    // The end of the last run is copied too, not written again.
    expect(await log.listRuns("t")).toEqual(await log.listRuns("s"));
    await ask("POST", "/v1/sessions/s/runs", { message: "What is 6*7?", run_id: "r2", agent: "slow" }, { status: 202 });
    await ask("POST", "/v1/sessions/s/runs", { message: "And 7*8?", run_id: "r3" }, { status: 202 });
    await expect.poll(() => core.runs.liveRuns).toBe(1);
    expect(await fork("u")).toMatchObject({ last_event_id: last });
    expect(await ask("GET", "/v1/sessions/u")).toMatchObject({ is_busy: false, queued: [], runs: [{ run_id: "r1" }] });
    expect(await say(fixture, "u", "Another", "r4")).toBe("completed");
  });

  it("is returned again for its key, however far both sessions have advanced", async () => {
    const fixture = await createServerFixture({ agents: { main: agent({ model: new OfflineModel() }) } });
    const { ask, log } = fixture;
    await say(fixture, "s", "Hello", "r1");
    const headers = { "idempotency-key": "k" };
    const again = (body: unknown, status: number) => ask("POST", "/v1/sessions/s/fork", body, { status, headers });
    const { session_id: id } = (await again({}, 201)) as unknown as ForkedSession;
    const mine = { session_id: "mine" };
    await again(mine, 201);
    for (const [session, run] of [
      ["s", "r2"],
      [id, "r3"],
      ["mine", "r4"],
    ] as const) {
      await say(fixture, session, "More", run);
      expect(await again({}, 200)).toMatchObject({ session_id: id });
      expect(await again(mine, 200)).toMatchObject({ session_id: "mine" });
    }
    const { session_id: before } = (await again({ before_run: "r2" }, 201)) as unknown as ForkedSession;
    expect(before).not.toBe(id);
    await ask("POST", "/v1/sessions/s/fork", mine, { status: 409 });
    expect(await log.listSessions()).toHaveLength(4);
  });

  it("is not confused with other sessions of the requested id", async () => {
    const fixture = await createServerFixture({ agents: { main: agent({ model: new OfflineModel() }) } });
    const { ask } = fixture;
    const headers = { "idempotency-key": "k" };
    const copy = (session_id: string, status: number) =>
      ask("POST", "/v1/sessions/s/fork", { session_id }, { status, headers });
    await say(fixture, "s", "Hello", "r1");
    await say(fixture, "other", "Hello", "r2");
    const { last_event_id: last } = await ask("GET", "/v1/sessions/s");
    await ask("POST", "/v1/sessions/s/fork", { after_event: last, session_id: "went-on" }, { status: 201 });
    await expect.poll(async () => (await ask("GET", "/v1/sessions/went-on"))["is_busy"]).toBe(false);
    await ask("POST", "/v1/sessions", { session_id: "empty" }, { status: 201 });
    for (const name of ["s", "other", "went-on", "empty"])
      expect(await copy(name, 409)).toMatchObject({ code: "session_exists" });
    const ofNothing = (status: number) =>
      ask("POST", "/v1/sessions/empty/fork", { session_id: "nothing" }, { status, headers });
    await ofNothing(201);
    expect(await ofNothing(200)).toMatchObject({ session_id: "nothing", last_event_id: 0 });
    const refused = await ask("POST", "/v1/sessions/s/fork", { state: {} }, { status: 400 });
    expect(refused).toMatchObject({ code: "invalid_request" });
    await ask("POST", "/v1/sessions/unknown/fork", {}, { status: 404 });
  });
});
