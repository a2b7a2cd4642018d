// The application's own login (`auth.authenticate`) on a mounted handler, over real connections: every way to call the
// server, what it may return, and what happens when it fails.
import { once } from "node:events";
import { createServer, type IncomingMessage, request as askHttp } from "node:http";
import type { AddressInfo } from "node:net";
import { PassThrough } from "node:stream";
import express from "express";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { WebSocket } from "ws";
import { agent } from "../../src/agents/index.ts";
import { MemoryLog } from "../../src/log/index.ts";
import { ScriptedModel } from "../../src/models/testing.ts";
import { LoomError } from "../../src/protocol/index.ts";
import {
  type Authenticate,
  type AuthOptions,
  createLoomHandler,
  createMemoryBlobStore,
  createPage,
  openCredentials,
  SERVER_LIMITS,
} from "../../src/server/index.ts";
import { sendOnNode } from "../../src/server/http/send-on-node.ts";
import { LONG } from "../sampling.ts";

const SCOPES = ["read", "write", "run", "approve"] as const;

/** A login with cookies: `sid=NAME` is the user NAME, unless it is `unknown`. */
const byCookie: Authenticate = ({ headers }) => {
  const [, owner = "unknown"] = /\bsid=(\w+)/.exec(headers.get("cookie") ?? "") ?? [];
  return owner === "unknown" ? undefined : { owner, scopes: SCOPES };
};

interface Sent {
  readonly method?: string;
  readonly body?: unknown;
  readonly headers?: { readonly [name: string]: string };
  /** Default: that of the server. */
  readonly origin?: string | null;
}

async function mount(auth: Partial<AuthOptions> = {}, options: { readonly onError?: (error: unknown) => void } = {}) {
  const credentials = openCredentials(":memory:");
  const model = new ScriptedModel(() => ({ text: "Hello." }));
  const loom = createLoomHandler({
    log: new MemoryLog(),
    agents: { main: agent({ model }) },
    blobs: createMemoryBlobStore(SERVER_LIMITS),
    page: createPage(),
    basePath: "/agents",
    origins: ["https://app.example.com"],
    auth: { credentials, authenticate: byCookie, ...auth },
    ...options,
  });
  const server = createServer(express().use("/agents", loom.listener));
  server.on("upgrade", (incoming, socket, head) => void loom.upgrade(incoming, socket, head));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(async () => {
    await loom.close({ graceMs: 0 });
    server.closeAllConnections();
    server.close();
    await credentials.close();
  });
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const own = `http://${host}`;
  const ask = (path: string, { method, body, headers = {}, origin = own }: Sent = {}): Promise<Response> =>
    fetch(`${own}/agents${path}`, {
      method: method ?? (body === undefined ? "GET" : "POST"),
      headers: {
        accept: "application/problem+json, */*",
        ...(origin === null ? {} : { origin }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  const codeOf = async (path: string, sent?: Sent): Promise<readonly unknown[]> => {
    const response = await ask(path, sent);
    const text = await response.text();
    return response.ok ? [response.status] : [response.status, (JSON.parse(text) as { readonly code: string }).code];
  };
  /** Opens a socket, and returns it with the status of a refusal. */
  const upgrade = async (path: string, headers: { readonly [name: string]: string } = {}) => {
    const socket = new WebSocket(`ws://${host}/agents${path}`, { headers: { origin: own, ...headers } });
    onTestFinished(() => socket.terminate());
    const opened = once(socket, "open").then(() => 101);
    const refused = once(socket, "unexpected-response").then(
      ([, response]) => (response as IncomingMessage).statusCode,
    );
    return { socket, status: await Promise.race([opened, refused]) };
  };
  return { credentials, host, ask, codeOf, upgrade };
}

const as = (name: string) => ({ headers: { cookie: `theme=dark; sid=${name}` } });

describe("your own login", () => {
  it.each<[string, Sent & { readonly ok?: number }]>([
    ["/v1/sessions", {}],
    ["/v1/agents", {}],
    ["/v1/sessions/s1/runs", { body: { message: "Hello?" } }],
    ["/v1/sessions/s1/blobs", { method: "POST", body: "bytes" }],
    ["/api/chat", { body: { session_id: "s1", content: "Hello?" } }],
    [
      "/api/chat",
      { body: { id: "c1", messages: [{ id: "m1", role: "user", parts: [{ type: "text", text: "Hello?" }] }] } },
    ],
    [
      "/ag-ui",
      {
        body: {
          threadId: "t1",
          runId: "r1",
          messages: [{ id: "m1", role: "user", content: "Hello?" }],
          tools: [],
          context: [],
          state: {},
          forwardedProps: {},
        },
      },
    ],
    ["/openai/v1/chat/completions", { body: { model: "main", messages: [{ role: "user", content: "Hello?" }] } }],
    ["/openai/v1/responses", { body: { model: "main", input: "Hello?" } }],
  ])("guards %s", async (path, sent) => {
    const { ask } = await mount();
    const anonymous = await ask(path, sent);
    expect([anonymous.status, await anonymous.text()]).toEqual([401, expect.stringContaining("unauthorized")]);
    const known = await ask(path, { ...sent, ...as("alice") });
    expect([known.ok, known.ok ? "" : await known.text()]).toEqual([true, ""]);
    await known.text();
  });

  it.each(["/v1/ws", "/agentOS/v1/ws_stream", "/openai/v1/responses"])("guards the socket %s", async (path) => {
    const { upgrade } = await mount();
    expect((await upgrade(path)).status).toBe(401);
    expect((await upgrade(path, as("alice").headers)).status).toBe(101);
  });

  it("separates the users and names the caller", async () => {
    const { ask, codeOf } = await mount();
    expect(await codeOf("/v1/sessions/s1/runs", { body: { message: "Hello?" }, ...as("alice") })).toEqual([202]);
    expect(await codeOf("/v1/sessions/s1", as("bob"))).toEqual([404, "unknown_session"]);
    expect(await (await ask("/v1/auth", as("alice"))).json()).toMatchObject({
      mode: "required",
      signed_in: true,
      kind: "user",
      owner: "alice",
      scopes: SCOPES,
    });
    expect(await (await ask("/v1/auth")).json()).toMatchObject({ mode: "required", signed_in: false });
  });

  it("gives a user without scopes no permission", async () => {
    const { codeOf } = await mount({ authenticate: () => ({ owner: "alice" }) });
    expect(await codeOf("/v1/sessions")).toEqual([403, "forbidden"]);
  });

  it("prefers a Loom credential, and never replaces an invalid one", async () => {
    const authenticate = vi.fn<Authenticate>(({ headers }) =>
      headers.get("authorization") === "Bearer theirs"
        ? { owner: "carol", scopes: ["read"] }
        : byCookie(new Request("http://x", { headers })),
    );
    const { ask, codeOf, credentials } = await mount({ authenticate });
    const { secret } = await credentials.createToken({ name: "t", owner: "tokens" });
    const ownerOf = async (bearer: string) =>
      (
        (await (
          await ask("/v1/auth", { headers: { ...as("alice").headers, authorization: `Bearer ${bearer}` } })
        ).json()) as { readonly owner: string }
      ).owner;
    expect(await ownerOf(secret)).toBe("tokens");
    const bad = { headers: { ...as("alice").headers, authorization: `Bearer ${secret}x` } };
    expect(await codeOf("/v1/sessions", bad)).toEqual([401, "unauthorized"]);
    expect(authenticate).not.toHaveBeenCalled();
    const signedIn = await ask("/v1/auth/sign-in", { body: { credential: secret }, ...as("alice") });
    authenticate.mockClear();
    const cookie = `${as("alice").headers.cookie}; ${signedIn.headers.getSetCookie()[0]?.split(";", 1)[0] ?? ""}`;
    expect(await (await ask("/v1/auth", { headers: { cookie } })).json()).toMatchObject({ owner: "tokens" });
    expect(authenticate).not.toHaveBeenCalled();
    // Without `jwt`, other bearer tokens belong to the login.
    expect(await ownerOf("theirs")).toBe("carol");
  });

  it("ignores cookies that a page of another origin may have sent", async () => {
    const { codeOf, upgrade } = await mount();
    const run = { body: { message: "Hello?" }, ...as("alice") };
    const foreign = { origin: "https://app.example.com" };
    expect(await codeOf("/v1/sessions/s1/runs", { ...run, ...foreign })).toEqual([401, "unauthorized"]);
    expect(await codeOf("/v1/sessions/s1/runs", { ...run, origin: null })).toEqual([401, "unauthorized"]);
    expect(await codeOf("/v1/sessions/s1/runs", { ...run, origin: "https://evil.example" })).toEqual([
      403,
      "forbidden",
    ]);
    expect((await upgrade("/v1/ws", { ...as("alice").headers, ...foreign })).status).toBe(401);
  });

  it("counts refused requests and upgrades against their address, and still accepts users", async () => {
    const { codeOf, upgrade } = await mount({ maxFailures: 3 });
    for (const status of [401, 401]) expect((await codeOf("/v1/sessions", as("unknown")))[0]).toBe(status);
    expect((await upgrade("/v1/ws", as("unknown").headers)).status).toBe(401);
    expect(await codeOf("/v1/sessions", as("unknown"))).toEqual([429, "rate_limited"]);
    expect((await upgrade("/v1/ws", as("unknown").headers)).status).toBe(429);
    expect(await codeOf("/v1/sessions", as("alice"))).toEqual([200]);
  });

  it("counts refused requests for a ticket, but not the question who is signed in", async () => {
    const { codeOf } = await mount({ maxFailures: 1 });
    for (const status of [200, 200, 200]) expect((await codeOf("/v1/auth"))[0]).toBe(status);
    const ask = { body: {}, ...as("unknown") };
    expect(await codeOf("/v1/auth/tickets", ask)).toEqual([401, "unauthorized"]);
    expect(await codeOf("/v1/auth/tickets", ask)).toEqual([429, "rate_limited"]);
    expect(await codeOf("/v1/auth/tickets", { body: {}, ...as("alice") })).toEqual([201]);
  });

  it("is not called for a method that no endpoint has", async () => {
    const onError = vi.fn();
    const { host } = await mount({}, { onError });
    const request = askHttp(`http://${host}/agents/v1/sessions`, { method: "TRACE" });
    request.end();
    const [response] = (await once(request, "response")) as [IncomingMessage];
    response.resume();
    expect([response.statusCode, onError.mock.calls]).toEqual([405, []]);
  });

  it("has as much time as a timer can have", async () => {
    const { codeOf } = await mount({
      authenticate: async (request) => {
        await new Promise((resolve) => setTimeout(resolve, 20));
        return byCookie(request);
      },
      authenticateMs: 2 ** 31,
    });
    expect(await codeOf("/v1/sessions", as("alice"))).toEqual([200]);
  });
});

describe("a login that fails", () => {
  const healthy = ["/healthz", "/openapi.json"];

  it.each<[string, Authenticate]>([
    [
      "boom",
      () => {
        throw new Error("boom");
      },
    ],
    ["boom", () => Promise.reject(new Error("boom"))],
    [
      "not here",
      () => {
        throw new LoomError("unauthorized", "not here");
      },
    ],
    ["1 to 200 characters", () => ({ owner: "", scopes: ["read"] })],
    ["without spaces", () => ({ owner: " ", scopes: ["read"] })],
    ["without spaces", () => ({ owner: "local ", scopes: ["read"] })],
    ["reserved", () => ({ owner: "local", scopes: ["read"] })],
    ["reserved", () => ({ owner: "jwt:alice", scopes: ["read"] })],
    ["unknown scope", () => ({ owner: "alice", scopes: ["read", "root"] }) as never],
    ["unknown scope", () => ({ owner: "alice", scopes: ["read", undefined] }) as never],
    ["must be a string", () => ({ owner: 42 }) as never],
    ["must be a list", () => ({ owner: "alice", scopes: "admin" }) as never],
    ["unknown field `scope`", () => ({ owner: "alice", scope: ["read"] }) as never],
    ["must return an object", () => true as never],
  ])("is answered with 500 and reported: %s", async (message, authenticate) => {
    const onError = vi.fn();
    const { codeOf, upgrade } = await mount({ authenticate }, { onError });
    for (const path of ["/v1/sessions", "/v1/auth"]) expect(await codeOf(path)).toEqual([500, "internal_error"]);
    expect((await upgrade("/v1/ws")).status).toBe(500);
    expect(onError).toHaveBeenCalledTimes(3);
    for (const [error] of onError.mock.calls) expect(String(error)).toContain(message);
    for (const path of healthy) expect(await codeOf(path)).toEqual([200]);
  });

  it("shows a warning if the handler has no `onError`", async () => {
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    onTestFinished(() => warn.mockRestore());
    const { codeOf } = await mount({ authenticate: () => Promise.reject(new Error("boom")) });
    expect(await codeOf("/v1/sessions")).toEqual([500, "internal_error"]);
    expect(warn.mock.calls.map(([text]) => String(text)).join()).toContain("boom");
  });

  it("is answered with 503 after the time limit, and told to stop", async () => {
    const onError = vi.fn();
    const signals: AbortSignal[] = [];
    const authenticate: Authenticate = ({ signal }) => {
      signals.push(signal);
      return new Promise(() => undefined);
    };
    const { codeOf, upgrade } = await mount({ authenticate, authenticateMs: 20 }, { onError });
    expect(await codeOf("/v1/sessions")).toEqual([503, "login_unavailable"]);
    expect((await upgrade("/v1/ws")).status).toBe(503);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
    expect(onError).toHaveBeenCalledTimes(2);
    for (const path of healthy) expect(await codeOf(path)).toEqual([200]);
  });
});

describe("open connections", () => {
  it("end when the login no longer finds the user", async () => {
    const signedOut = new Set<string>();
    const authenticate: Authenticate = async (request) => {
      const user = await byCookie(request);
      return signedOut.has(user?.owner ?? "") ? undefined : user;
    };
    const { ask, upgrade } = await mount({ authenticate, recheckMs: 1 });
    await (await ask("/v1/sessions/s1/runs", { body: { message: "Hello?" }, ...as("alice") })).text();
    const stream = await ask("/v1/sessions/s1/events?follow=1", as("alice"));
    const [{ socket: left }, { socket: stays }] = await Promise.all([
      upgrade("/v1/ws", as("alice").headers),
      upgrade("/v1/ws", as("bob").headers),
    ]);
    signedOut.add("alice");
    const [code, reason] = (await once(left, "close")) as [number, Buffer];
    expect([code, reason.toString()]).toEqual([1008, expect.stringContaining("unauthorized")]);
    await stream.text().catch(() => "cut");
    expect(stays.readyState).toBe(WebSocket.OPEN);
  });

  it.each(["unauthorized", "login_unavailable", "store_unavailable"] as const)(
    "end without a report of each stream: %s",
    async (code) => {
      const report = vi.fn();
      const body = new ReadableStream({ start: (stream) => stream.error(new LoomError(code, "away")) });
      const outgoing = Object.assign(new PassThrough(), {
        setHeaders: vi.fn(),
        writeHead: vi.fn(),
        flushHeaders: vi.fn(),
      });
      await sendOnNode({ report }, new Response(body), outgoing as never);
      expect([outgoing.destroyed, report.mock.calls]).toEqual([true, []]);
    },
  );

  it.each<[string, number, Authenticate]>([
    ["its user has left", 401, () => undefined],
    ["the login fails", 503, () => Promise.reject(new Error("no database"))],
  ])("do not store an upload if meanwhile %s", async (_, status, later) => {
    let current: Authenticate = byCookie;
    const onError = vi.fn();
    const { ask, host } = await mount({ authenticate: (request) => current(request), recheckMs: 1 }, { onError });
    await (await ask("/v1/sessions/s1/runs", { body: { message: "Hello?" }, ...as("alice") })).text();
    const upload = askHttp(`http://${host}/agents/v1/sessions/s1/blobs`, {
      method: "POST",
      headers: {
        ...as("alice").headers,
        origin: `http://${host}`,
        "content-type": "text/plain",
        expect: "100-continue",
      },
    });
    upload.flushHeaders();
    await once(upload, "continue");
    upload.write("some ");
    current = later;
    upload.end("bytes");
    const [response] = (await once(upload, "response")) as [IncomingMessage];
    response.resume();
    expect(response.statusCode).toBe(status);
  });

  it.runIf(LONG)("by a ticket end when the next check would be due", async () => {
    const { ask, upgrade } = await mount({ recheckMs: 1500 });
    const open = async () => {
      const { ticket } = (await (await ask("/v1/auth/tickets", { body: {}, ...as("alice") })).json()) as {
        readonly ticket: string;
      };
      return upgrade(`/v1/ws?ticket=${ticket}`);
    };
    const { socket, status } = await open();
    expect(status).toBe(101);
    const [code] = (await once(socket, "close")) as [number];
    expect(code).toBe(1008);
  });
});
