import { describe, expect, it, vi } from "vitest";
import { makeGraphRun, makeRun, overrideLog, writeRecords } from "../../test/log-sessions.ts";
import { openSession } from "../engine/index.ts";
import { createNdjsonDecoder, createSseDecoder } from "../framing/index.ts";
import { type Log, MemoryLog } from "../log/index.ts";
import { createEventsHandler, type EventsHandlerOptions } from "./events-handler.ts";

async function createLog(): Promise<Log> {
  const log = new MemoryLog();
  await writeRecords(log, [...makeRun("run-1"), ...makeRun("run-2", { after: 4 })]);
  return log;
}

async function createEndpoint(options: Partial<EventsHandlerOptions> = {}) {
  const handler = createEventsHandler({ log: await createLog(), heartbeatMs: 0, allowPublic: true, ...options });
  return (path: string, init?: RequestInit): Promise<Response> => handler(new Request(`http://loom.test${path}`, init));
}

async function readIds(response: Response): Promise<number[]> {
  const isSse = response.headers.get("content-type") === "text/event-stream";
  const decoder = isSse ? createSseDecoder() : createNdjsonDecoder();
  const outcomes = [...decoder.push(new Uint8Array(await response.arrayBuffer())), ...decoder.end()];
  return outcomes.map((outcome) => {
    if (!outcome.ok) throw new Error(outcome.detail);
    return (JSON.parse(outcome.text) as { event_id: number }).event_id;
  });
}

interface Frame {
  readonly type: string;
  readonly event_id: number;
  readonly state?: { readonly n: number };
}

const NDJSON = { headers: { accept: "application/x-ndjson" } };

describe("events", () => {
  it.each([
    ["", [1, 2, 3, 4, 5, 6, 7, 8]],
    ["?after=6", [7, 8]],
    ["?after=4&skip=2", [7, 8]],
    ["?limit=2", [1, 2]],
    ["?limit=0", []],
    ["?after=8", []],
    ["?follow=0&after=7", [8]],
  ])("returns %j in both framings", async (query, ids) => {
    const endpoint = await createEndpoint();
    const sse = await endpoint(`/v1/sessions/s/events${query}`);
    expect(sse.headers.get("content-type")).toBe("text/event-stream");
    expect(await readIds(sse)).toEqual(ids);
    const ndjson = await endpoint(`/v1/sessions/s/events${query}`, NDJSON);
    expect(ndjson.headers.get("content-type")).toBe("application/x-ndjson");
    expect(await readIds(ndjson)).toEqual(ids);
  });

  it("resumes after Last-Event-ID", async () => {
    const endpoint = await createEndpoint();
    const text = await (await endpoint("/v1/sessions/s/events?limit=3")).text();
    const id = /.*^id: (\S+)$/ms.exec(text)?.[1] as string;
    const rest = await endpoint("/v1/sessions/s/events", { headers: { "last-event-id": id } });
    expect(await readIds(rest)).toEqual([4, 5, 6, 7, 8]);
    // A browser reconnects with the same URL.
    const again = await endpoint("/v1/sessions/s/events?after=1&skip=1", { headers: { "last-event-id": id } });
    expect(await readIds(again)).toEqual([4, 5, 6, 7, 8]);
    const fresh = await endpoint("/v1/sessions/s/events?after=1&skip=1", { headers: { "last-event-id": "" } });
    expect(await readIds(fresh)).toEqual([3, 4, 5, 6, 7, 8]);
  });

  it.each([{}, NDJSON])(
    "cuts the stream before a frame that is too long, and reports it to the next request",
    async (init) => {
      const log = new MemoryLog();
      await writeRecords(log, makeGraphRun("run-1", { steps: 4, padding: "x".repeat(400) }));
      const onError = vi.fn();
      const endpoint = await createEndpoint({ log, onError, maxFrameBytes: 1100 });
      const first = await endpoint("/v1/sessions/s/events?modes=values", init);
      expect(first.status).toBe(200);
      const bytes = new Uint8Array(await first.arrayBuffer());
      const decoder = "headers" in init ? createNdjsonDecoder() : createSseDecoder();
      const frames = decoder.push(bytes).flatMap((outcome) => (outcome.ok ? [JSON.parse(outcome.text) as Frame] : []));
      expect(frames.map(({ type, state }) => [type, state?.n])).toEqual([
        ["run_start", undefined],
        ["values", 1],
        ["values", 2],
      ]);
      const [rest] = decoder.end();
      expect(rest?.ok === true ? rest.text : rest?.reason).toBe("headers" in init ? "{" : "unfinished_event");
      expect(onError).toHaveBeenCalledOnce();
      const again = await endpoint(`/v1/sessions/s/events?modes=values&after=${frames.at(-1)?.event_id}`, init);
      expect([again.status, await again.json()]).toMatchObject([400, { code: "frame_too_long" }]);
    },
  );

  it("sends reconstructed states in bounded chunks", async () => {
    const log = new MemoryLog();
    await writeRecords(log, makeGraphRun("run-1", { steps: 300, list: ["x".repeat(20_000)] }));
    const endpoint = await createEndpoint({ log });
    const response = await endpoint("/v1/sessions/s/events?modes=all");
    let [largest, sum] = [0, 0];
    for await (const chunk of response.body ?? []) {
      largest = Math.max(largest, chunk.length);
      sum += chunk.length;
    }
    expect(sum).toBeGreaterThan(15_000_000);
    expect(largest).toBeLessThan(1_100_000);
  });

  it.each([
    ["/v1/sessions/none/events", 404, "unknown_session"],
    ["/v1/sessions/s/events?after=99", 416, "cursor_ahead"],
    ["/v1/sessions/s/events?after=x", 400, "cursor_invalid"],
    ["/v1/sessions/s/events?after=1.AAAAAAAA.2", 410, "cursor_stale"],
    ["/v1/sessions/s/events?skip=-1", 400, "invalid_request"],
    ["/v1/sessions/s/events?skip=9&follow=1", 416, "cursor_ahead"],
    ["/v1/sessions/s/events?dialect=klingon", 400, "invalid_name"],
    ["/v1/sessions/%ZZ/events", 400, "invalid_name"],
    ["/v1/sessions/s/nothing", 404, "not_found"],
    ["/elsewhere", 404, "not_found"],
  ])("rejects %s with %i %s", async (path, status, code) => {
    const response = await (await createEndpoint())(path);
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ code });
  });

  it("rejects an invalid position even if the store is slow", async () => {
    const log = overrideLog(await createLog(), (real) => ({
      getSession: async (id) => {
        await new Promise((resolve) => setTimeout(resolve, 50));
        return real.getSession(id);
      },
    }));
    const response = await (await createEndpoint({ log }))("/v1/sessions/s/events?after=99&follow=1");
    expect(response.status).toBe(416);
    expect((await (await createEndpoint({ log }))("/v1/sessions/s/events?after=8&skip=1&follow=1")).status).toBe(416);
  });

  it("cuts the connection when reading fails", async () => {
    const log = overrideLog(new MemoryLog({ limits: { maxPageRecords: 2 } }), (real) => {
      let reads = 0;
      return {
        read: (...asked) => (++reads > 2 ? Promise.reject(new Error("the disk is gone")) : real.read(...asked)),
        peek: () => undefined,
      };
    });
    await writeRecords(log, [...makeRun("run-1"), ...makeRun("run-2", { after: 4 })]);
    const onError = vi.fn();
    const response = await (await createEndpoint({ log, onError }))("/v1/sessions/s/events");
    expect(response.status).toBe(200);
    await expect(response.text()).rejects.toThrow("the disk is gone");
    expect(onError).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ message: "the disk is gone" }));
  });

  it("returns the start cursor, from which frames can be counted", async () => {
    const log = await createLog();
    const endpoint = await createEndpoint({ log });
    const cursorOf = async (query: string) =>
      (await endpoint(`/v1/sessions/s/events${query}`)).headers.get("loom-cursor");
    const start = (await cursorOf("")) as string;
    expect(start).toMatch(/^\d+\.[\w-]{8}\.0$/);
    const sixth = start.replace(/0$/, "6");
    expect(await cursorOf("?after=6")).toBe(sixth);
    expect(await cursorOf(`?after=${sixth}`)).toBe(sixth);
    expect(await cursorOf(`?after=${start}&skip=3&follow=1`)).toBe(start);
    expect(await readIds(await endpoint(`/v1/sessions/s/events?after=${start}&skip=6`, NDJSON))).toEqual([7, 8]);
    expect((await endpoint(`/v1/sessions/s/events?after=${start.replace(/0$/, "3.5")}&follow=1`)).status).toBe(410);
    // Counting from a pruned position would address other frames.
    await log.prune({ maxSessionBytes: 0 });
    expect((await endpoint(`/v1/sessions/s/events?after=${start}&skip=6`)).status).toBe(410);
    await log.deleteSession("s");
    await writeRecords(log, [...makeRun("run-1"), ...makeRun("run-2", { after: 4 })]);
    for (const query of [`?after=${start}&skip=6`, `?after=6&of=${start}`, `?skip=6&of=${start}`]) {
      const response = await endpoint(`/v1/sessions/s/events${query}`);
      expect([response.status, await response.json()]).toMatchObject([410, { code: "cursor_stale" }]);
    }
    expect((await endpoint("/v1/sessions/s/events?after=6&of=nonsense")).status).toBe(400);
  });

  it("stops watching the session however the stream ends", async () => {
    let watching = 0;
    const log = overrideLog(await createLog(), (real) => ({
      watch(...asked) {
        watching++;
        const unwatch = real.watch(...asked);
        return () => {
          watching--;
          unwatch();
        };
      },
    }));
    const endpoint = await createEndpoint({ log });
    for (const query of ["?follow=1", "?follow=1&after=8", "?follow=1&limit=0", "?follow=1&limit=2"]) {
      const response = await endpoint(`/v1/sessions/s/events${query}`);
      await new Promise((resolve) => setImmediate(resolve));
      await response.body?.cancel();
      await vi.waitFor(() => expect(watching, query).toBe(0));
    }
  });

  it("sends something at least once per heartbeat interval", async () => {
    vi.useFakeTimers();
    try {
      const log = await createLog();
      const endpoint = await createEndpoint({ log, heartbeatMs: 1000 });
      const session = await openSession(log, "s");
      const response = await endpoint("/v1/sessions/s/events?follow=1&after=8");
      const times: number[] = [];
      const began = performance.now();
      const reader = (response.body as ReadableStream<Uint8Array>).getReader();
      const reading = (async () => {
        while (!(await reader.read()).done) times.push(performance.now() - began);
      })();
      await vi.advanceTimersByTimeAsync(1100);
      await session.record({ type: "custom", value: 1 });
      await vi.advanceTimersByTimeAsync(4000);
      await reader.cancel();
      await reading;
      const gaps = times.map((time, index) => time - (times[index - 1] ?? 0));
      expect(times.length).toBeGreaterThan(4);
      expect(Math.max(...gaps)).toBeLessThanOrEqual(1000);
    } finally {
      vi.useRealTimers();
    }
  });

  it("sends heartbeats while it waits", async () => {
    const endpoint = await createEndpoint({ heartbeatMs: 5 });
    const response = await endpoint("/v1/sessions/s/events?follow=1&after=8");
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    const { value } = await reader.read();
    expect(new TextDecoder().decode(value)).toBe(": alive\n\n");
    await reader.cancel();
  });

  it("sends a space as the heartbeat of NDJSON, so that every line is one JSON object", async () => {
    const log = await createLog();
    const endpoint = await createEndpoint({ log, heartbeatMs: 5 });
    const session = await openSession(log, "s");
    const accept = { headers: { accept: "application/x-ndjson" } };
    const response = await endpoint("/v1/sessions/s/events?follow=1&after=8", accept);
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    const decoder = new TextDecoder();
    let text = "";
    for (let value = 1; value <= 2; value++) {
      text += decoder.decode((await reader.read()).value);
      await session.record({ type: "custom", value });
      while (!text.endsWith("\n")) text += decoder.decode((await reader.read()).value);
    }
    await reader.cancel();
    expect(text).toMatch(/^ +\{/);
    const lines = text.slice(0, -1).split("\n");
    expect(lines.map((line) => (JSON.parse(line) as { value: number }).value)).toEqual([1, 2]);
  });

  it.each([
    [
      "/v1/sessions/s/events?folow=1",
      "GET",
      "Unknown query parameter `folow`; this endpoint takes dialect, modes, strict",
    ],
    ["/v1/sessions/s/commands?wait=1", "POST", "Unknown query parameter `wait`; this endpoint takes none"],
  ])("refuses %s, which has an unknown parameter", async (path, method, detail) => {
    const endpoint = await createEndpoint();
    const response = await endpoint(path, { method });
    const problem = (await response.json()) as { readonly code: string };
    expect([response.status, problem.code]).toEqual([400, "invalid_request"]);
    expect(JSON.stringify(problem)).toContain(detail);
  });

  it("can be mounted below any base path", async () => {
    const endpoint = await createEndpoint({ base: "/api/loom" });
    expect((await endpoint("/api/loom/v1/sessions/s/events?after=8")).status).toBe(200);
    expect((await endpoint("/v1/sessions/s/events")).status).toBe(404);
  });
});

describe("commands", () => {
  const post = (body: unknown): RequestInit => ({
    method: "POST",
    headers: { "content-type": "application/json" },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });

  it("are answered as on a socket", async () => {
    const endpoint = await createEndpoint();
    const command = { type: "cancel", id: "c1", session: "s", run_id: "run-1" };
    const done = await endpoint("/v1/sessions/s/commands", post(command));
    expect([done.status, await done.json()]).toEqual([200, { type: "ack", id: "c1", result: { effect: false } }]);
    const run = { type: "run", id: "m1", session: "new", message: "Hello" };
    const pending = await endpoint("/v1/sessions/new/commands", post(run));
    const result = { run_id: expect.stringMatching(/^run-/) as string };
    expect([pending.status, await pending.json()]).toEqual([202, { type: "ack", id: "m1", pending: true, result }]);
  });

  it.each([
    ["nonsense", 400, "invalid_request"],
    [{ type: "subscribe", id: "1", session: "s" }, 400, "invalid_request"],
    [{ type: "cancel", id: "1", session: "t", run_id: "r" }, 400, "invalid_command"],
    [{ type: "cancel", id: "1", session: "s" }, 400, "invalid_command"],
    [{ type: "todo", id: "1", session: "s", list_id: "l", item_id: "i", completed: true }, 404, "unknown_todo"],
    ["x".repeat(70_000), 413, "body_too_large"],
  ])("rejects an invalid one", async (body, status, code) => {
    const response = await (await createEndpoint())("/v1/sessions/s/commands", post(body));
    expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([status, code]);
  });

  it("accepts only the declared method", async () => {
    const endpoint = await createEndpoint();
    expect((await endpoint("/v1/sessions/s/commands")).headers.get("allow")).toBe("POST, OPTIONS");
    expect((await endpoint("/v1/sessions/s/events", { method: "DELETE" })).status).toBe(405);
  });
});
