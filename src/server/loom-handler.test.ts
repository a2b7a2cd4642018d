import { describe, expect, it, onTestFinished, vi } from "vitest";
import { agent } from "../agents/index.ts";
import { DIALECT_NAMES } from "../dialects/index.ts";
import { MemoryLog } from "../log/index.ts";
import type { LogMonitor } from "../log/log-monitor.ts";
import { ScriptedModel } from "../models/testing.ts";
import { createPrometheusObserver } from "../observe/index.ts";
import { LoomError, type StampedRecord } from "../protocol/index.ts";
import { makeRun, writeRecords } from "../../test/log-sessions.ts";
import type { LoomHandlerOptions } from "./handler-options.ts";
import { createLoomHandler, type LoomHandler } from "./loom-handler.ts";

function createHandler(options: Partial<LoomHandlerOptions> = {}): LoomHandler {
  const agents = { main: agent({ model: new ScriptedModel([{ text: "Hello." }]) }) };
  const handler = createLoomHandler({ log: new MemoryLog(), agents, allowPublic: true, ...options });
  onTestFinished(() => handler.close({ graceMs: 0 }));
  return handler;
}

const HERE = "http://127.0.0.1:10338";
const ask = (handler: LoomHandler, path: string, init?: RequestInit): Promise<Response> =>
  handler.fetch(new Request(HERE + path, init));

async function refusalOf(response: Response): Promise<readonly unknown[]> {
  const type = response.headers.get("content-type");
  const { code, status, ...rest } = (await response.json()) as { readonly [name: string]: unknown };
  expect([type, status, rest]).toMatchObject([
    "application/problem+json",
    response.status,
    {
      type: `urn:loom:problem:${String(code)}`,
      id: expect.any(String) as string,
      detail: expect.any(String) as string,
    },
  ]);
  return [response.status, code];
}

describe("server endpoints", () => {
  it("report health, version and the OpenAPI document", async () => {
    const handler = createHandler();
    expect(await (await ask(handler, "/healthz")).json()).toEqual({ status: "ok" });
    expect(await (await ask(handler, "/version")).json()).toMatchObject({
      name: "loom-agent",
      dialects: DIALECT_NAMES,
    });
    expect(await (await ask(handler, "/openapi.json")).json()).toMatchObject({ openapi: "3.1.0" });
  });

  it("report whether the server is ready, and why not", async () => {
    const log = new MemoryLog();
    const { promise, resolve } = Promise.withResolvers<readonly string[]>();
    vi.spyOn(log, "listOrphans").mockReturnValueOnce(promise);
    const onError = vi.fn();
    const handler = createHandler({ log, onError });
    const early = await ask(handler, "/readyz");
    expect([early.status, await early.json()]).toEqual([
      503,
      { status: "not_ready", reasons: ["searching for abandoned runs"] },
    ]);
    resolve([]);
    await handler.ready;
    const ready = await ask(handler, "/readyz");
    expect([ready.status, await ready.json()]).toEqual([200, { status: "ready", reasons: [] }]);
    vi.spyOn(log, "listSessions").mockRejectedValueOnce(new Error("disk on fire at /secret"));
    const broken = await ask(handler, "/readyz");
    const text = await broken.text();
    expect([broken.status, text]).toEqual([503, expect.stringContaining("the store cannot be read")]);
    expect(text).not.toContain("secret");
    expect(onError).toHaveBeenCalledOnce();
    await handler.close({ graceMs: 0 });
    const closing = await ask(handler, "/readyz");
    expect([closing.status, await closing.json()]).toMatchObject([503, { reasons: ["the server is shutting down"] }]);
  });

  it("report what works only in part, with one ID, to clients that need not know the address of the database", async () => {
    const warning = new LoomError("store_degraded", "The database db.internal sends no notifications");
    let listener: Parameters<LogMonitor["watch"]>[0] = () => undefined;
    const monitor = {
      fault: undefined,
      warning,
      check: async () => undefined,
      watch(given: typeof listener) {
        listener = given;
        return () => undefined;
      },
    };
    const onError = vi.fn<(error: unknown, errorId: string) => void>();
    const handler = createHandler({ log: Object.assign(new MemoryLog(), { monitor: monitor as never }), onError });
    await handler.ready;
    listener(undefined, warning);
    const away = new LoomError("store_unavailable", "away");
    // The warning lasts while the database is away for a moment.
    listener(away, warning);
    listener(undefined, warning);
    const errorId = onError.mock.calls[0]?.[1];
    for (let checks = 0; checks < 2; checks++) {
      const ready = await ask(handler, "/readyz");
      const reasons = [`the store works, but changes of other servers arrive late (error ${errorId})`];
      expect([ready.status, await ready.json()]).toEqual([200, { status: "ready", reasons }]);
    }
    expect(onError.mock.calls.map(([error]) => error)).toEqual([warning, away]);
  });

  it("retry the search for abandoned runs when the store cannot be read at first", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const log = new MemoryLog();
    vi.spyOn(log, "listOrphans").mockRejectedValueOnce(new Error("busy"));
    const onError = vi.fn();
    const handler = createHandler({ log, onError });
    await expect(handler.ready).rejects.toThrow("busy");
    expect((await ask(handler, "/readyz")).status).toBe(503);
    await vi.advanceTimersByTimeAsync(1000);
    expect((await ask(handler, "/readyz")).status).toBe(200);
    expect(onError).toHaveBeenCalledOnce();
  });

  it("serve metrics only with a register", async () => {
    expect(await refusalOf(await ask(createHandler(), "/metrics"))).toEqual([404, "not_found"]);
    const { register } = await createPrometheusObserver();
    const response = await ask(createHandler({ register }), "/metrics");
    expect([response.status, await response.text()]).toEqual([200, expect.stringContaining("loom_")]);
  });

  it("fetch images from other sites unless `images` is false", async () => {
    const path = "/v1/images?url=http%3A%2F%2Fa.example%2Fa.png";
    expect((await ask(createHandler(), path)).status).not.toBe(404);
    expect(await refusalOf(await ask(createHandler({ images: false }), path))).toEqual([404, "not_found"]);
  });

  it("serve the page only with `page`", async () => {
    expect(await refusalOf(await ask(createHandler(), "/"))).toEqual([404, "not_found"]);
    const page = (): Response => new Response("<p>Hello.", { headers: { "referrer-policy": "same-origin" } });
    const handler = createHandler({ page, basePath: "/agents" });
    for (const path of ["/agents/", "/", "/agents/assets/a.js"]) {
      const response = await ask(handler, path);
      expect([await response.text(), response.headers.get("referrer-policy")]).toEqual(["<p>Hello.", "same-origin"]);
    }
    const bare = await ask(handler, "/agents?a=1");
    expect([bare.status, bare.headers.get("location")]).toEqual([308, "./agents/?a=1"]);
    expect(await refusalOf(await ask(handler, "/agents/assets/deep/a.js"))).toEqual([404, "not_found"]);
  });
});

describe("requests", () => {
  it("get a problem response when they cannot be served", async () => {
    const handler = createHandler();
    expect(await refusalOf(await ask(handler, "/nothing/here"))).toEqual([404, "not_found"]);
    expect(await refusalOf(await ask(handler, "/v1/ws"))).toEqual([426, "unsupported"]);
    const wrong = await ask(handler, "/version", { method: "DELETE" });
    expect([wrong.headers.get("allow"), ...(await refusalOf(wrong))]).toEqual([
      "GET, HEAD, OPTIONS",
      405,
      "unsupported",
    ]);
    expect(await refusalOf(await ask(handler, "/v1/sessions/%E4%A/blobs"))).toEqual([400, "invalid_name"]);
    const options = await ask(handler, "/version", { method: "OPTIONS" });
    expect([options.status, options.headers.get("allow")]).toEqual([204, "GET, HEAD, OPTIONS"]);
    const head = await ask(handler, "/version", { method: "HEAD" });
    expect([head.status, head.headers.get("content-type"), await head.text()]).toEqual([200, "application/json", ""]);
  });

  it("have an id that the response repeats", async () => {
    const handler = createHandler();
    const named = await ask(handler, "/healthz", { headers: { "x-request-id": "abc-1.2:3" } });
    expect(named.headers.get("x-request-id")).toBe("abc-1.2:3");
    for (const bad of ["a b", "x".repeat(65), "<script>"]) {
      const { headers } = await ask(handler, "/nothing", { headers: { "x-request-id": bad } });
      expect(headers.get("x-request-id")).toMatch(/^[\da-f-]{36}$/);
    }
    expect(Object.fromEntries(named.headers)).toMatchObject({
      "x-content-type-options": "nosniff",
      "cross-origin-resource-policy": "same-origin",
      "referrer-policy": "no-referrer",
    });
    expect(named.headers.has("x-powered-by")).toBe(false);
  });

  it("are authorized before they are handled", async () => {
    const authorize = vi.fn(({ action }: { readonly action: string }) => {
      if (action === "blobs.read") throw new LoomError("unauthorized", "who are you?");
      if (action === "metrics.read") throw new Error("password: secret");
    });
    const onError = vi.fn();
    const handler = createHandler({ authorize, onError });
    expect(await refusalOf(await ask(handler, "/v1/sessions/s%2F1/blobs"))).toEqual([401, "unauthorized"]);
    expect(authorize.mock.lastCall).toMatchObject([{ action: "blobs.read", session: "s/1" }]);
    const broken = await ask(handler, "/metrics");
    const refusal = (await broken.json()) as { readonly id: string };
    expect([broken.status, refusal]).toMatchObject([500, { code: "internal_error", id: refusal.id }]);
    expect(JSON.stringify(refusal)).not.toContain("secret");
    expect(onError).toHaveBeenCalledExactlyOnceWith(
      expect.objectContaining({ message: "password: secret" }),
      refusal.id,
    );
  });

  it("from pages of this machine are accepted with `devOrigins`, and otherwise refused with a warning", async () => {
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    onTestFinished(() => warn.mockRestore());
    const headers = { origin: "http://localhost:5173", host: "localhost:10338" };
    const url = "http://localhost:10338/version";
    const good = await createHandler({ devOrigins: true }).fetch(new Request(url, { headers }));
    expect(good.headers.get("access-control-allow-origin")).toBe("http://localhost:5173");
    expect(warn).not.toHaveBeenCalled();
    const bad = await createHandler({}).fetch(new Request(url, { headers }));
    expect(bad.status).toBe(403);
    expect(await bad.json()).toMatchObject({
      code: "forbidden",
      detail: expect.stringContaining("--dev-origins") as unknown,
    });
    expect(warn.mock.calls.map(([message]) => message)).toEqual([
      'Rejected a request: origin "http://localhost:5173" is not allowed; to allow it, add "http://localhost:5173" to the option `origins`',
    ]);
  });

  it("from other origins are accepted only if allowed", async () => {
    const handler = createHandler({ origins: ["https://app.example.com"] });
    const good = await ask(handler, "/version", { headers: { origin: "https://app.example.com" } });
    expect(Object.fromEntries(good.headers)).toMatchObject({
      "access-control-allow-origin": "https://app.example.com",
      "access-control-expose-headers":
        "loom-cursor, loom-run, loom-session, location, content-location, x-request-id, retry-after, x-workflow-run-id, x-workflow-stream-tail-index, x-resumable-stream-id, x-vercel-ai-ui-message-stream",
      vary: "origin",
    });
    const bad = await ask(handler, "/version", { headers: { origin: "https://evil.example" } });
    expect(bad.headers.has("access-control-allow-origin")).toBe(false);
    expect([bad.headers.get("vary"), ...(await refusalOf(bad))]).toEqual(["origin", 403, "forbidden"]);
    const preflight = {
      method: "OPTIONS",
      headers: { origin: "https://app.example.com", "access-control-request-method": "POST" },
    };
    const asked = await ask(handler, "/v1/sessions/a/blobs", preflight);
    expect([asked.status, asked.headers.get("access-control-allow-methods")]).toEqual([
      204,
      "POST, GET, HEAD, OPTIONS",
    ]);
    expect(asked.headers.get("access-control-allow-headers")).toContain("last-event-id");
    expect((await ask(handler, "/version")).headers.get("vary")).toBe("origin");
  });

  it("see stack traces only with `debug`", async () => {
    const log = new MemoryLog();
    const [start, end] = makeRun("r").slice(0, 1).concat(makeRun("r").slice(-1)) as [StampedRecord, StampedRecord];
    const error = { type: "error", code: "internal_error", message: "no", details: { stack_trace: "at secret" } };
    await writeRecords(log, [
      start,
      { envelope: { ...start.envelope, event_id: 2 }, event: error },
      { envelope: { ...end.envelope, event_id: 3 }, event: end.event },
    ]);
    const read = async (debug: boolean) =>
      (await ask(createHandler({ log, debug }), "/v1/sessions/s/events?dialect=engine")).text();
    expect(await read(true)).toContain("at secret");
    expect(await read(false)).not.toContain("at secret");
  });

  it("that start work are rejected while the server shuts down", async () => {
    const handler = createHandler();
    await handler.close({ graceMs: 0 });
    const response = await ask(handler, "/v1/sessions/a/blobs", { method: "POST", body: "x" });
    expect([response.headers.get("retry-after"), ...(await refusalOf(response))]).toEqual(["1", 503, "shutting_down"]);
    const body = JSON.stringify({ type: "cancel", id: "1", session: "s", run_id: "r" });
    const headers = { "content-type": "application/json" };
    const stop = new Request("http://h/v1/sessions/s/commands", { method: "POST", headers, body });
    // A cancel is still accepted.
    expect((await refusalOf(await handler.fetch(stop)))[1]).toBe("unknown_session");
    expect((await ask(handler, "/healthz")).status).toBe(200);
    await handler.close();
  });
});

describe("options", () => {
  it.each<[Partial<Record<keyof LoomHandlerOptions, unknown>> & { readonly [name: string]: unknown }, string]>([
    [{ log: undefined }, "`log` is required"],
    [{ log: {} }, "`log` must be a log"],
    [{ agents: {} }, "at least one agent"],
    [{ agents: { own: function* own() {} } }, '"own" in `agents` is not an agent, but a function'],
    [{ agents: { own: null } }, "create one with `agent` or `foreignAgent`"],
    [{ origins: ["https://app.example.com/"] }, "`origins` must be a list of exact origins"],
    [{ origins: ["*"] }, "`origins` must be"],
    [{ auth: {} }, "`auth` must be an object with `credentials`, `jwt` or `authenticate`"],
    [{ auth: { authenticate: true } }, "`auth` must be"],
    [{ auth: { authenticate: () => undefined, recheckMs: 0 } }, "`auth.recheckMs` must be an integer from 1, not 0"],
    [{ auth: { credentials: {} } }, "`auth` must be"],
    [{ origins: ["null"] }, "`origins` must be"],
    [{ hosts: ["http://example.com"] }, "`hosts` must be a list of hosts"],
    [{ hosts: ["*.example.com/"] }, "`hosts` must be"],
    [{ trustedProxies: ["anyone"] }, "`trustedProxies` must be"],
    [{ basePath: "agents" }, "`basePath` must be a path"],
    [{ basePath: "/a/../b" }, "`basePath` must be a path"],
    [{ limits: { maxBodyBytes: -1 } }, "`limits.maxBodyBytes` must be an integer from 1, not -1"],
    [{ limits: { maxBody: 1 } }, "Unknown limit `limits.maxBody`; did you mean `limits.maxBodyBytes`?"],
    [{ orgins: [] }, "Unknown option `orgins`; did you mean `origins`?"],
    [{ debug: "yes" }, "`debug` must be true or false"],
    [{ page: "<p>" }, "`page` must be a function"],
  ])("rejects %o", (options, message) => {
    const agents = { main: agent({ model: new ScriptedModel([]) }) };
    expect(() => createLoomHandler({ log: new MemoryLog(), agents, ...options } as never)).toThrow(message);
  });

  it("accept valid values", () => {
    createHandler({
      hosts: ["example.com", "LOCALHOST:3000", "[::1]:80"],
      basePath: "/a/b/",
      origins: ["http://a.example:81"],
    });
  });
});
