import { describe, expect, it } from "vitest";
import { ENCODER_VERSION } from "../../log/cursor.ts";
import { followSse, readSse, createServerFixture, type SseEvent } from "../../../test/server/server-fixture.ts";
import { readFrames } from "../../../test/server/read-frames.ts";
import type { JsonObject } from "../../protocol/index.ts";
import type { StartedRun } from "../api/shapes.generated.ts";

const SSE = { accept: "text/event-stream" };
const post = (body: unknown, headers: { readonly [name: string]: string } = {}): RequestInit => ({
  method: "POST",
  headers: { "content-type": "application/json", ...headers },
  body: JSON.stringify(body),
});
const parse = ({ data }: SseEvent): JsonObject => JSON.parse(data) as JsonObject;
const typesOf = (events: readonly SseEvent[]): readonly unknown[] => events.map((event) => parse(event)["type"]);

describe("a message", () => {
  it("is accepted and returns its run and the URL of the stream", async () => {
    const { fetch, ask } = await createServerFixture({ script: [{ text: "Hello you" }] });
    const response = await fetch("/v1/sessions/s/runs", post({ message: "Hello", request_id: "q", context: { a: 1 } }));
    expect(response.status).toBe(202);
    const started = (await response.json()) as StartedRun;
    expect(started).toMatchObject({ session_id: "s", run_id: expect.stringMatching(/^run-/) as unknown });
    expect(["queued", "live"]).toContain(started.status);
    expect(response.headers.get("location")).toBe(`/v1/sessions/s/runs/${started.run_id}`);
    const events = await readSse(await fetch(started.events));
    expect(parse(events[0] as SseEvent)).toMatchObject({ type: "run_start", request_id: "q", context: { a: 1 } });
    expect(parse(events.at(-1) as SseEvent)).toMatchObject({ reply: "Hello you" });
    const run = await ask("GET", String(response.headers.get("location")));
    expect(run).toMatchObject({ status: "completed", request_id: "q", agent: "main" });
    // The cursor points to the start of the run.
    const after = await readSse(await fetch(`/v1/sessions/s/events?after=${started.cursor}`));
    expect(after).toEqual(events);
  });

  it("can declare what its client can do", async () => {
    const { fetch } = await createServerFixture({
      script: [{ calls: [{ name: "remove", input: { path: "x" }, id: "t1" }] }, { text: "Done." }],
    });
    const events = await readSse(await fetch("/v1/sessions/s/runs", post({ message: "Hi", capabilities: [] }, SSE)));
    expect(events.map(parse).find(({ type }) => type === "tool_end")).toMatchObject({
      error_code: "approval_unavailable",
    });
    const refused = await fetch("/v1/sessions/s/runs", post({ message: "Hi", capabilities: [1] }));
    expect(await refused.json()).toMatchObject({ code: "invalid_request", details: { in: "body" } });
  });

  it("is answered with the stream of its run on request", async () => {
    const { fetch, log } = await createServerFixture({
      script: [{ text: "One." }, { text: "Two." }, { text: "Three." }],
    });
    const first = await fetch("/v1/sessions/s/runs", post({ message: "1", run_id: "r1" }, SSE));
    expect(first.headers.get("loom-run")).toBe("r1");
    expect(typesOf(await readSse(first)).slice(0, 1)).toEqual(["run_start"]);
    const second = await fetch(
      "/v1/sessions/s/runs?dialect=engine",
      post({ message: "2", run_id: "r2" }, { accept: "application/x-ndjson" }),
    );
    expect(second.headers.get("content-type")).toBe("application/x-ndjson");
    const lines = (await second.text()).trimEnd().split("\n");
    expect(lines.map((line) => (JSON.parse(line) as JsonObject)["type"])).toEqual(
      expect.arrayContaining(["session_start", "content", "session_end"]),
    );
    const modes = await fetch("/v1/sessions/s/runs?modes=messages", post({ message: "3" }, SSE));
    expect(typesOf(await readSse(modes))).not.toContain("node_enter");
    expect((await log.listRuns("s")).map(({ status }) => status)).toEqual(["completed", "completed", "completed"]);
  });

  it("starts nothing if the stream options are invalid", async () => {
    const { fetch, ask, log } = await createServerFixture({ script: [{ text: "One." }] });
    const refuse = async (query: string, headers = {}) => {
      const response = await fetch(`/v1/sessions/s/runs${query}`, post({ message: "1" }, { ...SSE, ...headers }));
      return [response.status, ((await response.json()) as JsonObject)["code"]];
    };
    expect(await refuse("?dialect=klingon")).toEqual([400, "invalid_name"]);
    expect(await refuse("?modes=loud")).toEqual([400, "invalid_name"]);
    expect(await refuse("", { "last-event-id": "nonsense" })).toEqual([400, "cursor_invalid"]);
    expect(await refuse("", { "last-event-id": `${ENCODER_VERSION}.AAAAAAAA.3` })).toEqual([404, "unknown_session"]);
    expect(await log.getSession("s")).toBeUndefined();
    await ask("POST", "/v1/sessions", { session_id: "s" }, { status: 201 });
    expect(await refuse("", { "last-event-id": `${ENCODER_VERSION}.AAAAAAAA.3` })).toEqual([410, "cursor_stale"]);
    expect(await log.listRuns("s")).toEqual([]);
    expect(await log.listPending("s")).toEqual([]);
  });

  it("returns the same run for a repeated key, also after it has ended", async () => {
    const { fetch, ask, log } = await createServerFixture({ script: [{ text: "Only once." }] });
    const init = post({ message: "Do it" }, { ...SSE, "idempotency-key": "k1" });
    const events = await readSse(await fetch("/v1/sessions/s/runs", init));
    expect(await readSse(await fetch("/v1/sessions/s/runs", init))).toEqual(events);
    const id = events[2]?.id ?? "";
    const rest = post({ message: "Do it" }, { ...SSE, "idempotency-key": "k1", "last-event-id": id });
    expect(await readSse(await fetch("/v1/sessions/s/runs", rest))).toEqual(events.slice(3));
    const headers = { "idempotency-key": "k1" };
    const known = await ask("POST", "/v1/sessions/s/runs", { message: "Do it" }, { headers });
    expect(known).toMatchObject({ status: "completed", command_id: "k1" });
    expect(await ask("POST", "/v1/sessions/s/runs", { message: "Do that" }, { status: 409, headers })).toMatchObject({
      code: "command_conflict",
    });
    expect(await log.listRuns("s")).toHaveLength(1);
  });

  it("is answered even if the client disconnects", async () => {
    const gate = Promise.withResolvers<void>();
    const { fetch, log } = await createServerFixture({ script: [{ text: "Here I am.", until: gate.promise }] });
    const leaver = new AbortController();
    const init = { ...post({ message: "Hello?" }, SSE), signal: leaver.signal };
    const response = await fetch("/v1/sessions/s/runs", init);
    for await (const event of followSse(response)) {
      expect(parse(event)["type"]).toBe("run_start");
      break;
    }
    leaver.abort();
    gate.resolve();
    await expect.poll(async () => (await log.listRuns("s"))[0]?.status).toBe("completed");
  });

  it("without a session creates one, the same for the same key", async () => {
    const { ask, fetch } = await createServerFixture({ script: [{ text: "New." }] });
    const headers = { "idempotency-key": "unguessable" };
    const { session_id, run_id } = await ask("POST", "/v1/runs", { message: "Hi" }, { status: 202, headers });
    expect(session_id).toMatch(/^sess_/);
    const again = await fetch("/v1/runs", post({ message: "Hi" }, { ...SSE, ...headers }));
    expect(again.headers.get("loom-session")).toBe(session_id);
    expect(again.headers.get("loom-run")).toBe(run_id);
    expect(parse((await readSse(again)).at(-1) as SseEvent)).toMatchObject({ reply: "New." });
  });
});

describe("a message behind a live run", () => {
  const busy = async () => {
    const gate = Promise.withResolvers<void>();
    const fixture = await createServerFixture({
      script: [{ text: "First.", until: gate.promise }, { text: "Second." }],
    });
    await fixture.ask("POST", "/v1/sessions/s/runs", { message: "1", run_id: "r1" }, { status: 202 });
    return { ...fixture, gate };
  };

  it("is queued, and its stream waits", async () => {
    const { ask, fetch, gate } = await busy();
    const headers = { "idempotency-key": "k" };
    const queued = await ask("POST", "/v1/sessions/s/runs", { message: "2", run_id: "r2" }, { status: 202, headers });
    expect(queued).toMatchObject({ status: "queued", run_id: "r2" });
    expect(await ask("GET", "/v1/sessions/s")).toMatchObject({ is_busy: true, runs: [{ run_id: "r1" }] });
    const streaming = fetch("/v1/sessions/s/runs", post({ message: "2", run_id: "r2" }, { ...SSE, ...headers }));
    gate.resolve();
    const events = await readSse(await streaming);
    expect(parse(events[0] as SseEvent)).toMatchObject({ type: "run_start", run_id: "r2" });
    expect(parse(events.at(-1) as SseEvent)).toMatchObject({ reply: "Second." });
  });

  it("can be cancelled while it is queued", async () => {
    const { ask, fetch } = await busy();
    const headers = { "idempotency-key": "k" };
    await ask("POST", "/v1/sessions/s/runs", { message: "2", run_id: "r2" }, { status: 202, headers });
    const stream = await fetch("/v1/sessions/s/runs", post({ message: "2", run_id: "r2" }, { ...SSE, ...headers }));
    await ask("POST", "/v1/sessions/s/runs/r2/cancel", { reason: "changed my mind" });
    await expect(readFrames(stream)).rejects.toThrow("changed my mind");
    const refusal = await ask("POST", "/v1/sessions/s/runs", { message: "2", run_id: "r2" }, { status: 409, headers });
    expect(refusal).toMatchObject({ code: "cancelled", detail: "changed my mind" });
  });

  it("is rejected or interrupts the run, as `when_busy` says", async () => {
    const { ask, log } = await busy();
    const reject = { message: "2", when_busy: "reject" };
    expect(await ask("POST", "/v1/sessions/s/runs", reject, { status: 409 })).toMatchObject({ code: "run_live" });
    await ask("POST", "/v1/sessions/s/runs", { message: "3", when_busy: "interrupt" }, { status: 202 });
    expect((await log.getRun("s", "r1"))?.status).toBe("cancelled");
  });
});

describe("an invalid message", () => {
  it("is rejected and creates nothing", async () => {
    const { ask, log } = await createServerFixture();
    const refuse = (body: unknown, status: number, headers = {}) =>
      ask("POST", "/v1/sessions/s/runs", body, { status, headers });
    expect(await refuse({}, 400)).toMatchObject({ code: "invalid_request", details: { path: "message" } });
    for (const message of ["", "  \n"])
      expect(await refuse({ message }, 400)).toMatchObject({ code: "invalid_command" });
    expect(await refuse({ message: "x", when_busy: "now" }, 400)).toMatchObject({ code: "invalid_request" });
    expect(await refuse({ message: "x" }, 400, { "idempotency-key": "k".repeat(257) })).toMatchObject({
      code: "invalid_name",
    });
    expect(await refuse({ message: "x".repeat(100_000) }, 400)).toMatchObject({ code: "invalid_command" });
    const attachments = [{ blob_id: "0".repeat(64) }];
    expect(await refuse({ message: "x", attachments }, 404)).toMatchObject({ code: "unknown_blob" });
    expect(await refuse({ message: "x", attachments: [{ name: "no id" }] }, 400)).toMatchObject({
      code: "invalid_request",
    });
    expect(await refuse({ message: "x", agnet: "tot" }, 400)).toMatchObject({
      code: "invalid_request",
      detail: "Unknown field `agnet`; did you mean `agent`?",
      details: { path: "agnet", in: "body", suggestion: "agent" },
    });
    expect(await refuse({ message: { text: "x", attachments: [{ nme: "y" }] } }, 400)).toMatchObject({
      details: { path: "message.attachments[0].nme", suggestion: "message.attachments[0].name" },
    });
    expect(await log.getSession("s")).toBeUndefined();
    expect(await refuse({ message: "x", agent: "unknown" }, 404)).toMatchObject({ code: "unknown_agent" });
    expect(await log.listRuns("s").catch(() => [])).toEqual([]);
  });
});

describe("attachments", () => {
  it("are described in the run by reference", async () => {
    const { core, fetch } = await createServerFixture({ script: [{ text: "Nice." }] });
    const bytes = new TextEncoder().encode("a,b\n1,2\n");
    const blob = await core.blobs?.put("s", [bytes], { mediaType: "text/csv", name: "table.csv" });
    const message = { message: "Look", attachments: [{ blob_id: blob?.blobId }] };
    const [start] = await readSse(await fetch("/v1/sessions/s/runs", post(message, SSE)));
    expect(parse(start as SseEvent)).toMatchObject({
      attachments: [{ blob_id: blob?.blobId, name: "table.csv", media_type: "text/csv", bytes: bytes.length }],
    });
  });
});
