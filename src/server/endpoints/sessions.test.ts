import { describe, expect, it, vi } from "vitest";
import { ENCODER_VERSION } from "../../log/cursor.ts";
import { gather, makeGraphRun, makeRun, writeRecords } from "../../../test/log-sessions.ts";
import { createServerFixture } from "../../../test/server/server-fixture.ts";
import { openSession } from "../../engine/index.ts";
import { exportSession, MemoryLog } from "../../log/index.ts";
import { LoomError } from "../../protocol/index.ts";
import type { ForkedSession, SessionDetails, SessionList, StartedRun } from "../api/shapes.generated.ts";

describe("sessions", () => {
  it("are created once, with a given or generated id", async () => {
    const { ask } = await createServerFixture();
    const made = await ask("POST", "/v1/sessions", { session_id: "a b/ü", title: "First" }, { status: 201 });
    expect(made).toMatchObject({ session_id: "a b/ü", title: "First", first_event_id: 1, last_event_id: 0, bytes: 0 });
    expect(await ask("POST", "/v1/sessions", { session_id: "a b/ü", title: "Other" })).toEqual(made);
    const other = await ask("POST", "/v1/sessions", undefined, { status: 201 });
    expect(other["session_id"]).toMatch(/^sess_/);
    const headers = { "idempotency-key": "k" };
    const { session_id } = await ask("POST", "/v1/sessions", {}, { status: 201, headers });
    expect(await ask("POST", "/v1/sessions", {}, { headers })).toMatchObject({ session_id });
    const details = { ...made, runs: [], is_busy: false, latest_version: "a b/ü", queued: [] };
    expect(await ask("GET", "/v1/sessions/a%20b%2F%C3%BC")).toEqual(details);
  });

  it("are rejected for an invalid id, title or body", async () => {
    const { ask } = await createServerFixture();
    const refuse = (body: unknown) => ask("POST", "/v1/sessions", body, { status: 400 });
    expect(await refuse({ session_id: "" })).toMatchObject({ code: "invalid_name" });
    expect(await refuse({ session_id: "s", title: "x".repeat(1001) })).toMatchObject({ code: "invalid_name" });
    expect(await refuse({ title: 1 })).toMatchObject({ code: "invalid_request" });
    expect(await refuse([])).toMatchObject({ code: "invalid_request" });
  });

  it("have a title of one line with a visible character", async () => {
    const { ask, log } = await createServerFixture();
    await writeRecords(log, makeRun("r"));
    for (const title of ["", " \n", "\u0000\u001B", "\u200B\u2060"])
      for (const [method, path] of [
        ["POST", "/v1/sessions"],
        ["PATCH", "/v1/sessions/s"],
        ["POST", "/v1/sessions/s/fork"],
      ] as const)
        expect(await ask(method, path, { title }, { status: 400 })).toMatchObject({ code: "invalid_name" });
    expect(await ask("GET", "/v1/sessions")).toHaveProperty("sessions.length", 1);
    expect(await ask("GET", "/v1/sessions/s")).not.toHaveProperty("title");
    const title = " 👩‍🚀\tNew\u0007\n title ";
    expect(await ask("POST", "/v1/sessions", { title }, { status: 201 })).toMatchObject({ title: "👩‍🚀 New title" });
    expect(await ask("PATCH", "/v1/sessions/s", { title })).toMatchObject({ title: "👩‍🚀 New title" });
    const forked = await ask("POST", "/v1/sessions/s/fork", { title: "a\r\nb" }, { status: 201 });
    expect(forked).toMatchObject({ title: "a b" });
    await log.createSession("older", { title: " " });
    expect(await ask("GET", "/v1/sessions/older")).not.toHaveProperty("title");
  });

  it("are listed newest first in pages, and can be searched", async () => {
    const { ask, log } = await createServerFixture();
    for (const id of ["a", "b", "c"]) await log.createSession(id, { title: `Session ${id === "b" ? "bread" : "x"}` });
    const first = (await ask("GET", "/v1/sessions?limit=2")) as { readonly next?: string };
    expect(first).toMatchObject({ sessions: [{ session_id: "c" }, { session_id: "b" }], next: "b" });
    await writeRecords(log, makeRun("r", { sessionId: "b" }));
    const newest = (await ask("GET", "/v1/sessions?versions=newest")) as unknown as SessionList;
    expect(newest.sessions.map(({ latest_status: status }) => status)).toEqual([undefined, "completed", undefined]);
    const rest = await ask("GET", `/v1/sessions?limit=2&after=${first.next}`);
    expect(rest).toMatchObject({ sessions: [{ session_id: "a" }] });
    expect(rest).not.toHaveProperty("next");
    const found = await ask("GET", "/v1/sessions?q=bread");
    expect(found).toMatchObject({ sessions: [{ session_id: "b", match: { where: "title" } }] });
    expect(await ask("GET", "/v1/sessions?q=")).toHaveProperty("sessions.length", 3);
    expect(await ask("GET", "/v1/sessions?after=gone", undefined, { status: 400 })).toMatchObject({
      code: "cursor_invalid",
    });
    expect(await ask("GET", "/v1/sessions?limit=many", undefined, { status: 400 })).toMatchObject({
      code: "invalid_request",
    });
  });

  it("list their latest runs and can be renamed", async () => {
    const { ask, log } = await createServerFixture();
    await writeRecords(log, [...makeRun("r1"), ...makeRun("r2", { after: 4 })]);
    const renamed = await ask("PATCH", "/v1/sessions/s", { title: "New" });
    expect(renamed).toMatchObject({ session_id: "s", title: "New", last_event_id: 8 });
    const runs = [{ run_id: "r2", status: "completed", first_event_id: 5, last_event_id: 8 }, { run_id: "r1" }];
    expect(await ask("GET", "/v1/sessions/s")).toMatchObject({ title: "New", runs, is_busy: false });
    expect(await ask("GET", "/v1/sessions/s/runs?limit=1")).toMatchObject({ runs: [{ run_id: "r2" }], next: "r2" });
    expect(await ask("GET", "/v1/sessions/s/runs?after=r2")).toMatchObject({ runs: [{ run_id: "r1" }] });
    expect(await ask("GET", "/v1/sessions/s/runs/r1")).toMatchObject({ run_id: "r1", status: "completed" });
    expect(await ask("GET", "/v1/sessions/s/runs/r9", undefined, { status: 404 })).toMatchObject({
      code: "unknown_run",
    });
    const wrong = await ask("PATCH", "/v1/sessions/s", { is_pinned: "yes" }, { status: 400 });
    expect(wrong).toMatchObject({ code: "invalid_request" });
  });

  it("are listed, changed and deleted as one conversation with their versions", async () => {
    const { ask, log } = await createServerFixture();
    await writeRecords(log, [...makeRun("r1"), ...makeRun("r2", { after: 4 })]);
    await log.createSession("other");
    await ask("PATCH", "/v1/sessions/s", { title: "Title", is_pinned: true });
    const fork = (session_id: string) =>
      ask("POST", "/v1/sessions/s/fork", { before_run: "r2", session_id }, { status: 201 });
    for (const id of ["v2", "v3"])
      expect(await fork(id)).toMatchObject({ title: "Title", is_pinned: true, root_id: "s" });
    const list = async (query: string) =>
      ((await ask("GET", `/v1/sessions?${query}`)) as unknown as SessionList).sessions.map((one) => one.session_id);
    expect(await list("versions=newest")).toEqual(["v3", "other"]);
    expect(await list("pinned=true&versions=newest")).toEqual(["v3"]);
    expect(await list("")).toEqual(["v3", "v2", "other", "s"]);

    // A change of any version changes all of them.
    expect(await ask("PATCH", "/v1/sessions/v2", { title: "New", is_archived: true })).toMatchObject({ title: "New" });
    for (const id of ["s", "v2", "v3"])
      expect(await ask("GET", `/v1/sessions/${id}`)).toMatchObject({
        title: "New",
        is_pinned: true,
        is_archived: true,
      });
    expect(await list("versions=newest&archived=false")).toEqual(["other"]);
    expect(await list("versions=newest&archived=true")).toEqual(["v3"]);
    await ask("PATCH", "/v1/sessions/v3", { is_pinned: false, is_archived: false });
    expect(await ask("GET", "/v1/sessions/s")).not.toHaveProperty("is_pinned");

    await ask("DELETE", "/v1/sessions/v3", undefined, { status: 204 });
    expect(await list("versions=newest")).toEqual(["v2", "other"]);
    await ask("DELETE", "/v1/sessions/v2?versions=all", undefined, { status: 204 });
    expect(await list("")).toEqual(["other"]);
  });

  it("that do not exist are rejected by every endpoint", async () => {
    const { ask } = await createServerFixture();
    for (const [method, path, body] of [
      ["GET", "", undefined],
      ["PATCH", "", { title: "x" }],
      ["DELETE", "", undefined],
      ["POST", "/fork", { checkpoint_id: "c" }],
      ["POST", "/fork", { after_event: 3 }],
      ["GET", "/runs", undefined],
      ["GET", "/runs/r", undefined],
      ["GET", "/events", undefined],
      ["GET", "/export", undefined],
      ["GET", "/checkpoints", undefined],
      ["GET", "/checkpoints/c", undefined],
      ["GET", "/approvals", undefined],
      ["POST", "/approvals/c", { decision: "approved" }],
      ["POST", "/runs/r/cancel", undefined],
      ["PATCH", "/todos/l/i", { completed: true }],
    ] as const)
      expect(await ask(method, `/v1/sessions/unknown${path}`, body, { status: 404 })).toMatchObject({
        code: "unknown_session",
      });
  });

  it("are changed and deleted only if the caller may change all versions", async () => {
    const { ask, log } = await createServerFixture({
      authorize: ({ session, action }) => {
        if (session === "kept" && action !== "sessions.read") throw new LoomError("forbidden", "not this one");
      },
    });
    await log.createSession("s", { title: "Old" });
    await log.createSession("kept", { rootId: "s" });
    expect(await ask("PATCH", "/v1/sessions/s", { title: "New" }, { status: 403 })).toMatchObject({
      code: "forbidden",
    });
    await ask("DELETE", "/v1/sessions/s?versions=all", undefined, { status: 403 });
    expect(await ask("GET", "/v1/sessions/s")).toMatchObject({ title: "Old" });
    await ask("DELETE", "/v1/sessions/s", undefined, { status: 204 });
  });

  it("are authorized by id, in the path and in the body", async () => {
    const { ask, log } = await createServerFixture({
      authorize: ({ session }) => {
        if (session === "secret") throw new LoomError("forbidden", "not yours");
      },
    });
    await log.createSession("secret");
    await writeRecords(log, makeGraphRun("r"));
    const no = { status: 403 };
    for (const [method, path, body] of [
      ["POST", "/v1/sessions", { session_id: "secret" }],
      ["GET", "/v1/sessions/secret", undefined],
      ["GET", "/v1/sessions/secret/events", undefined],
      ["POST", "/v1/sessions/s/fork", { checkpoint_id: "r-1", session_id: "secret" }],
      ["POST", "/api/chat", { session_id: "secret", content: "Hello" }],
      ["GET", "/api/chat?session_id=secret", undefined],
    ] as const)
      expect(await ask(method, path, body, no)).toMatchObject({ code: "forbidden" });
    const headers = { "last-event-id": `${ENCODER_VERSION}.AAAAAAAA.1` };
    expect(await ask("POST", "/api/chat", { session_id: "secret" }, { ...no, headers })).toBeDefined();
  });

  it("are exported as stored", async () => {
    const { fetch, log } = await createServerFixture();
    await writeRecords(log, makeGraphRun("r", { steps: 5 }));
    const response = await fetch("/v1/sessions/s/export");
    expect(response.headers.get("content-type")).toBe("application/x-ndjson");
    expect(await response.text()).toBe((await gather(exportSession(log, "s"))).join(""));
    await log.createSession("empty");
    expect(await (await fetch("/v1/sessions/empty/export")).text()).toBe("");
  });
});

describe("a deleted session", () => {
  it("is removed with its blobs, and its runs are stopped", async () => {
    const { ask, log, core, ran } = await createServerFixture({
      script: [{ calls: [{ name: "wait", id: "c" }] }, { text: "never said" }],
    });
    await core.blobs?.put("s", [new Uint8Array([1, 2, 3])], { mediaType: "image/png" });
    await ask("POST", "/v1/sessions/s/runs", { message: "Wait" }, { status: 202 });
    await ask("POST", "/v1/sessions/s/runs", { message: "And then" }, { status: 202 });
    await expect.poll(() => ran).toHaveLength(1);
    await ask("DELETE", "/v1/sessions/s", undefined, { status: 204 });
    expect(await log.getSession("s")).toBeUndefined();
    expect(await core.blobs?.list("s")).toEqual([]);
    await expect.poll(() => core.runs.liveRuns).toBe(0);
    await ask("DELETE", "/v1/sessions/s", undefined, { status: 404 });
    expect(ran).toHaveLength(1);
  });
});

describe("a fork", () => {
  it("shares the records up to a checkpoint, given by id or by record", async () => {
    const { ask, log } = await createServerFixture();
    await writeRecords(log, makeGraphRun("r", { steps: 3 }));
    const forked = await ask("POST", "/v1/sessions/s/fork", { checkpoint_id: "r-2", session_id: "t" }, { status: 201 });
    expect(forked).toMatchObject({ session_id: "t", checkpoint_id: "r-2", last_event_id: 14 });
    const found = await ask("POST", "/v1/sessions/s/fork", { after_event: 10, title: "Other" }, { status: 201 });
    expect(found).toMatchObject({ checkpoint_id: "r-1", last_event_id: 8, title: "Other" });
    const edited = { checkpoint_id: "r-1", state: { n: 7 } };
    const other = await ask("POST", "/v1/sessions/s/fork", edited, { status: 201 });
    const { session_id, checkpoint_id } = other as unknown as ForkedSession;
    const path = `/v1/sessions/${session_id}/checkpoints/${checkpoint_id}`;
    expect(await ask("GET", path)).toMatchObject({ state: { n: 7 } });
  });

  it("is returned again for its key, with all its blobs", async () => {
    const { ask, core, log } = await createServerFixture();
    await writeRecords(log, makeGraphRun("r", { steps: 2 }));
    const headers = { "idempotency-key": "k" };
    const body = { checkpoint_id: "r-1" };
    const { session_id: id } = await ask("POST", "/v1/sessions/s/fork", body, { status: 201, headers });
    // As if the first request had been interrupted before the blobs were copied.
    const blob = await core.blobs?.put("s", [new Uint8Array([7])], { mediaType: "image/png" });
    expect(await ask("POST", "/v1/sessions/s/fork", body, { headers })).toMatchObject({ session_id: id });
    expect(await core.blobs?.get(id as string, blob?.blobId ?? "")).toBeDefined();
    expect(await log.listSessions()).toHaveLength(2);
    // The same key can be used for another operation.
    await ask("POST", "/v1/sessions", undefined, { status: 201, headers });
  });

  it("keeps its checkpoint when it is requested again", async () => {
    const { ask, log } = await createServerFixture();
    await writeRecords(log, makeGraphRun("r", { steps: 3 }));
    const headers = { "idempotency-key": "k" };
    const again = (body: unknown, status: number, given = headers) =>
      ask("POST", "/v1/sessions/s/fork", body, { status, headers: given });
    for (const body of [{ after_event: 10 }, { checkpoint_id: "r-1", session_id: "t", state: { n: 7 } }]) {
      const first = await again(body, 201);
      const { session_id: id, checkpoint_id, created_at, updated_at } = first as unknown as ForkedSession;
      expect(updated_at).toBeGreaterThanOrEqual(created_at);
      // The fork continues to another checkpoint.
      const session = await vi.waitFor(() => openSession(log, id), { interval: 5 });
      const run = await session.startRun();
      await run.emit({
        type: "checkpoint",
        checkpoint_id: "later",
        timestamp: "2026-01-01T00:00:00Z",
        step: 0,
        state: {},
      });
      await run.finish();
      await session.close();
      expect(await again(body, 200)).toMatchObject({ session_id: id, checkpoint_id });
    }
    expect(await again({ after_event: 14 }, 409)).toMatchObject({ code: "command_conflict" });
    const named = { checkpoint_id: "r-1", session_id: "t" };
    for (const other of [named, { ...named, state: { n: 8 } }, { ...named, checkpoint_id: "r-0" }])
      expect(await again(other, 409)).toMatchObject({ code: "session_exists" });
    await ask("POST", "/v1/sessions/s/fork", { ...named, state: { n: 7 } }, { status: 409 });
    await log.createSession("u");
    await again({ checkpoint_id: "r-1", session_id: "u" }, 409);
    expect(await log.listSessions()).toHaveLength(4);
  });

  it("is rejected with two fork points or an unknown one", async () => {
    const { ask, log } = await createServerFixture();
    await writeRecords(log, makeGraphRun("r"));
    const refuse = (body: unknown, status: number) => ask("POST", "/v1/sessions/s/fork", body, { status });
    expect(await refuse({ checkpoint_id: "r-1", after_event: 3 }, 400)).toMatchObject({ code: "invalid_request" });
    expect(await refuse({ checkpoint_id: "r-9" }, 404)).toMatchObject({ code: "unknown_checkpoint" });
    expect(await refuse({ after_event: 1 }, 404)).toMatchObject({ code: "unknown_checkpoint" });
    expect(await refuse({ checkpoint_id: "r-1", session_id: "s" }, 409)).toMatchObject({ code: "session_exists" });
  });
});

describe("queued messages", () => {
  it("are listed with their session, next first, at most 20", async () => {
    const { ask, ran } = await createServerFixture({
      script: [{ calls: [{ name: "wait", id: "c" }] }, { text: "done" }],
    });
    const send = (message: string, more = {}, key = message) =>
      ask("POST", "/v1/sessions/s/runs", { message, ...more }, { status: 202, headers: { "idempotency-key": key } });
    await send("Wait");
    await expect.poll(() => ran).toHaveLength(1);
    const { run_id } = (await send("Second", { agent: "main" }, "k2")) as unknown as StartedRun;
    for (let index = 0; index < 21; index++) await send(`More ${index}`);
    const { queued, is_busy } = (await ask("GET", "/v1/sessions/s")) as unknown as SessionDetails;
    expect(is_busy).toBe(true);
    expect(queued).toHaveLength(20);
    expect(queued[0]).toEqual({
      command_id: "k2",
      run_id,
      message: "Second",
      agent: "main",
      created_at: expect.any(Number) as number,
    });
    expect(queued[1]).toMatchObject({ message: "More 0" });
    await ask("POST", `/v1/sessions/s/runs/${run_id}/cancel`, {});
    expect(await ask("GET", "/v1/sessions/s")).toMatchObject({
      queued: [{ message: "More 0" }, ...Array.from({ length: 19 }, () => ({}))],
    });
  });
});

describe("the versions of a conversation", () => {
  it("are listed oldest first, in pages", async () => {
    const { ask, log } = await createServerFixture();
    await writeRecords(log, [...makeRun("r1"), ...makeRun("r2", { after: 4 })]);
    await log.createSession("unrelated");
    const fork = (from: string, body: object) => ask("POST", `/v1/sessions/${from}/fork`, body, { status: 201 });
    const a = await fork("s", { before_run: "r2", session_id: "a" });
    const b = await fork("a", { before_run: "r1", session_id: "b" });
    const copy = await fork("b", { session_id: "copy" });
    expect(a).toMatchObject({ forked_from: { session_id: "s", run_id: "r2", event_id: 4 }, root_id: "s" });
    expect(b).toMatchObject({ forked_from: { session_id: "a", run_id: "r1", event_id: 0 }, root_id: "s" });
    expect(copy).toMatchObject({ forked_from: { session_id: "b", event_id: 0 }, root_id: "copy" });
    const { runs: _runs, is_busy: _busy, queued: _queued, latest_version, ...s } = await ask("GET", "/v1/sessions/s");
    expect(latest_version).toBe("b");
    expect(s).not.toHaveProperty("forked_from");
    expect(s).toMatchObject({ root_id: "s" });
    expect(await ask("GET", "/v1/sessions/a/branches")).toEqual({ sessions: [s, a, b] });
    expect(await ask("GET", "/v1/sessions/s/branches?limit=2")).toEqual({ sessions: [s, a], next: "a" });
    expect(await ask("GET", "/v1/sessions/s/branches?limit=2&after=a")).toEqual({ sessions: [b] });
    expect(await ask("GET", "/v1/sessions/copy/branches")).toEqual({ sessions: [copy] });
    const invalid = await ask("GET", "/v1/sessions/s/branches?after=unrelated", undefined, { status: 400 });
    expect(invalid).toMatchObject({ code: "cursor_invalid" });
    await ask("GET", "/v1/sessions/none/branches", undefined, { status: 404 });
    await ask("DELETE", "/v1/sessions/s", undefined, { status: 204 });
    expect(await ask("GET", "/v1/sessions/b/branches")).toEqual({ sessions: [a, b] });
  });

  it("name the newest one, which `version=latest` reads", async () => {
    const { ask, log } = await createServerFixture();
    await writeRecords(log, [...makeRun("r1"), ...makeRun("r2", { after: 4 })]);
    const latest = (session: string, query = "") => ask("GET", `/v1/sessions/${session}${query}`);
    expect(await latest("s", "?version=latest")).toMatchObject({ session_id: "s", latest_version: "s" });
    await ask("POST", "/v1/sessions/s/fork", { before_run: "r2", session_id: "a" }, { status: 201 });
    expect(await latest("s")).toMatchObject({ session_id: "s", latest_version: "a" });
    expect(await latest("s", "?version=latest")).toEqual(await latest("a"));
    await ask("GET", "/v1/sessions/s?version=oldest", undefined, { status: 400 });
  });
});

describe("blobs of a fork", () => {
  it("are copies that outlive the original session", async () => {
    const { ask, log, core } = await createServerFixture();
    await writeRecords(log, makeGraphRun("r"));
    const blob = await core.blobs?.put("s", [new Uint8Array([7, 8])], { mediaType: "image/png", name: "x.png" });
    await ask("POST", "/v1/sessions/s/fork", { checkpoint_id: "r-1", session_id: "t" }, { status: 201 });
    await ask("DELETE", "/v1/sessions/s", undefined, { status: 204 });
    expect(await core.blobs?.get("t", blob?.blobId ?? "")).toMatchObject({ name: "x.png", bytes: 2 });
  });

  it("that exceed the limit prevent the fork", async () => {
    const { ask, log, core } = await createServerFixture();
    await writeRecords(log, makeGraphRun("r"));
    const { blobs } = core;
    await blobs?.put("s", [new Uint8Array([7])], { mediaType: "image/png" });
    if (blobs !== undefined) blobs.put = () => Promise.reject(new LoomError("blobs_full", "no room"));
    const body = { checkpoint_id: "r-1", session_id: "t" };
    expect(await ask("POST", "/v1/sessions/s/fork", body, { status: 507 })).toMatchObject({ code: "blobs_full" });
    expect(await log.getSession("t")).toBeUndefined();
  });
});

describe("checkpoints", () => {
  it("are listed without states and read with them", async () => {
    const { ask, log } = await createServerFixture();
    await writeRecords(log, makeGraphRun("r", { steps: 2 }));
    const first = (await ask("GET", "/v1/sessions/s/checkpoints?limit=2")) as { readonly next?: string };
    expect(first).toMatchObject({ checkpoints: [{ checkpoint_id: "r-2", step: 2 }, { checkpoint_id: "r-1" }] });
    expect(await ask("GET", `/v1/sessions/s/checkpoints?after=${first.next}`)).toMatchObject({
      checkpoints: [{ checkpoint_id: "r-0", checkpoint_ns: "", run_id: "r", event_id: 2 }],
    });
    expect(await ask("GET", "/v1/sessions/s/checkpoints/r-2")).toMatchObject({
      step: 2,
      state: { list: ["item 1", "item 2"], n: 2 },
    });
    expect(await ask("GET", "/v1/sessions/s/checkpoints/no", undefined, { status: 404 })).toMatchObject({
      code: "unknown_checkpoint",
    });
  });
});

describe("internal errors", () => {
  it("are reported to clients by id only", async () => {
    const log = new MemoryLog();
    log.listSessions = () => Promise.reject(new Error("the secret of the store"));
    const { ask, reported } = await createServerFixture({ log });
    const refusal = await ask("GET", "/v1/sessions", undefined, { status: 500 });
    expect(refusal).toMatchObject({ code: "internal_error", id: "error-1" });
    expect(JSON.stringify(refusal)).not.toContain("secret");
    expect(reported).toHaveLength(1);
  });
});
