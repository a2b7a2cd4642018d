// Security headers on every response: all endpoints, successful or not, the page, streams, and refused connections.
import { request } from "node:http";
import { expect } from "vitest";
import { LoomError } from "../../src/protocol/index.ts";
import { OPERATIONS } from "../../src/server/operations.ts";
import { createPage } from "../../src/server/index.ts";
import { testThreat } from "./test-threat.ts";
import { openServer } from "./open-server.ts";
import { sendRaw, UPGRADE, writeHead } from "./raw-request.ts";

interface ResponseHead {
  readonly status: number;
  readonly headers: Headers;
}

type HeaderValues = { readonly [name: string]: string };

/** Returns only the head of the response; some bodies never end. */
function ask(
  port: number,
  method: string,
  path: string,
  headers: HeaderValues = {},
  body?: string,
): Promise<ResponseHead> {
  return new Promise((resolve, reject) => {
    const asked = request({ host: "127.0.0.1", port, method, path, headers, agent: false }, (response) => {
      const found = new Headers();
      for (const [name, values = []] of Object.entries(response.headersDistinct))
        for (const value of values) found.append(name, value);
      response.destroy();
      resolve({ status: response.statusCode ?? 0, headers: found });
    });
    asked.on("error", reject);
    asked.end(body);
  });
}

/** Directives that every policy must contain. */
const NEEDED = ["default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"];

function expectSafe({ status, headers }: ResponseHead, type = "application/problem+json"): void {
  expect(status).toBeGreaterThan(0);
  const policy = (headers.get("content-security-policy") ?? "").split("; ");
  expect(policy).toEqual(expect.arrayContaining(NEEDED));
  expect(policy.join()).not.toMatch(/unsafe|\*/);
  expect(Object.fromEntries(headers)).toMatchObject({
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": expect.stringContaining("camera=()") as string,
    "cache-control": expect.stringMatching(/no-store|no-cache|private|immutable/) as string,
  });
  expect(headers.has("x-powered-by")).toBe(false);
  expect(headers.has("strict-transport-security")).toBe(false);
  if (status >= 400) expect([headers.get("content-type"), headers.get("cache-control")]).toEqual([type, "no-store"]);
}

/** A path for an endpoint, with an existing session. */
const pathOf = (path: string): string =>
  path.replaceAll(/\{(\w+)\}/g, (_, name: string) => (name === "id" ? "s" : "none"));

testThreat("clickjacking", "every endpoint sends security headers with every kind of response", async ({ attempt }) => {
  const { port } = await openServer({
    authorize: ({ caller }) => {
      if (caller.headers.has("x-anonymous")) throw new LoomError("unauthorized", "no credentials");
      if (caller.headers.has("x-broken")) throw new Error("broken");
    },
  });
  await ask(port, "POST", "/v1/sessions", { "content-type": "application/json" }, '{"session_id":"s"}');
  for (const { method, path } of OPERATIONS) {
    const to = pathOf(path);
    const tries: readonly [string, string, HeaderValues, number?][] = [
      ["unchanged", method, {}],
      ["with an unsupported body", method, { "content-type": "text/html" }],
      ["with HEAD", "HEAD", {}],
      ["with an unknown method", "PROPFIND", {}, 405],
      ["as a preflight", "OPTIONS", {}, 204],
      ["unauthenticated", method, { "x-anonymous": "1" }, 401],
      ["with an internal error", method, { "x-broken": "1" }, 500],
      ["from another site", method, { origin: "https://evil.example" }, 403],
      ["with another host", method, { host: "evil.example" }, 403],
    ];
    for (const [how, by, headers, status] of tries)
      await attempt(`${method} ${path} ${how}`, async () => {
        const answer = await ask(port, by, to, headers);
        if (status !== undefined) expect(answer.status).toBe(status);
        expectSafe(answer);
      });
  }
});

testThreat("clickjacking", "streams, the page and its files have security headers", async ({ attempt }) => {
  const { port } = await openServer({ basePath: "/base" });
  await ask(port, "POST", "/base/v1/sessions", { "content-type": "application/json" }, '{"session_id":"s"}');
  const events = "/base/v1/sessions/s/events";
  const etag = (await ask(port, "GET", "/base/")).headers.get("etag") ?? "";
  const tries: readonly [path: string, status: number, headers: HeaderValues][] = [
    [`${events}?follow=1`, 200, { accept: "text/event-stream" }],
    [`${events}?follow=1`, 200, { accept: "application/x-ndjson" }],
    [events, 200, { accept: "application/json" }],
    ["/base/", 200, {}],
    ["/base/", 304, { "if-none-match": etag }],
    ["/base/", 200, { "accept-encoding": "br" }],
    ["/base", 308, {}],
    ["/base/assets/a.js", 200, {}],
    ["/base/assets/none.js", 404, {}],
    ["/base/../../etc/passwd", 404, {}],
    ["/base//evil.example/", 404, {}],
    ["/base/%zz", 400, {}],
    ["/base/v1/ws", 426, {}],
  ];
  for (const [path, status, headers] of tries)
    for (const method of ["GET", "HEAD"])
      await attempt(`${method} ${path} ${JSON.stringify(headers)}`, async () => {
        const answer = await ask(port, method, path, headers);
        expect(answer.status).toBe(status);
        expectSafe(answer);
      });
  await attempt("a page that is not built", async () => {
    const bare = await openServer({ page: createPage({ folder: "/nowhere" }) });
    const answer = await ask(bare.port, "GET", "/");
    expect(answer.status).toBe(503);
    // This response is plain text, for the person who opened the page.
    expectSafe(answer, "text/plain; charset=utf-8");
  });
});

testThreat("stored-xss", "blobs are served so that they cannot run scripts", async ({ attempt }) => {
  const { port } = await openServer({ origins: ["https://app.example.com"] });
  const make = (type: string, body: string) =>
    ask(port, "POST", "/v1/sessions/s/blobs", { "content-type": type }, body);
  for (const type of ["text/html", "image/svg+xml", "text/plain", "application/xhtml+xml", "text/javascript"]) {
    const path = (await make(type, `<script>alert(1)</script>${type}`)).headers.get("location") ?? "";
    const etag = (await ask(port, "GET", path)).headers.get("etag") ?? "";
    const tries: readonly [status: number, headers: HeaderValues][] = [
      [200, {}],
      [200, { origin: "https://app.example.com" }],
      [206, { range: "bytes=0-3" }],
      [304, { "if-none-match": etag }],
      [416, { range: "bytes=900-" }],
    ];
    for (const [status, headers] of tries)
      await attempt(`${type} ${status}`, async () => {
        const answer = await ask(port, "GET", path, headers);
        expect(answer.status).toBe(status);
        expectSafe(answer);
        // The refusal contains nothing of the blob.
        if (status !== 416) expect(answer.headers.get("content-security-policy")).toMatch(/^sandbox;/);
        expect(answer.headers.get("content-type") ?? "text/plain").not.toMatch(/html|svg|xml|script/);
        expect(answer.headers.get("cache-control")).toMatch(/private, no-cache|no-store/);
        expect(answer.headers.get("access-control-allow-origin")).toBe(headers["origin"] ?? null);
      });
  }
});

testThreat("clickjacking", "refused connections have security headers and a problem body", async ({ attempt }) => {
  const server = await openServer({ limits: { maxSockets: 1, maxHeaderBytes: 4096, headersTimeoutMs: 200 } });
  const { port } = server;
  const host = ["host", `127.0.0.1:${port}`] as const;
  const upgrade = (path: string, ...more: readonly (readonly [string, string])[]): string =>
    writeHead(`GET ${path} HTTP/1.1`, [host, ...UPGRADE, ...more]);
  const tries: readonly [why: string, text: string, status: number][] = [
    ["another site", upgrade("/v1/ws", ["origin", "https://evil.example"]), 403],
    ["an opaque origin", upgrade("/v1/ws", ["origin", "null"]), 403],
    ["another host", upgrade("/v1/ws").replace(`127.0.0.1:${port}`, "evil.example"), 403],
    ["another path", upgrade("/v1/nothing"), 404],
    ["a path with another host", upgrade("//evil.example/v1/ws"), 404],
    ["another version", upgrade("/v1/ws").replace("version: 13", "version: 12"), 400],
    ["no key", upgrade("/v1/ws").replace("dGhlIHNhbXBsZSBub25jZQ==", "x"), 400],
    ["not HTTP", "HELO\r\n\r\n", 400],
    ["no host", "GET /healthz HTTP/1.1\r\n\r\n", 400],
    ["an invalid host", "GET /healthz HTTP/1.1\r\nhost: a b\r\n\r\n", 400],
    ["a head that is too long", writeHead("GET /healthz HTTP/1.1", [host, ["x", "y".repeat(9000)]]), 431],
    ["an unfinished head", "GET /healthz HTTP/1.1\r\nhost: x\r\n", 408],
    ["an unknown expectation", writeHead("GET /healthz HTTP/1.1", [host, ["expect", "a-wonder"]]), 417],
  ];
  for (const [why, text, status] of tries)
    await attempt(why, async () => {
      const answer = await sendRaw(port, text, 8000);
      expect(answer.status).toBe(status);
      expectSafe(answer);
      const { id, detail, code } = JSON.parse(answer.body) as { readonly [name: string]: unknown };
      expect([id, detail, code]).toEqual([expect.stringMatching(/^[\w.:-]+$/), expect.any(String), expect.any(String)]);
      expect(answer.headers.get("x-request-id")).toBe(id);
    });
  const open = new WebSocket(`ws://127.0.0.1:${port}/v1/ws`);
  await new Promise((resolve) => open.addEventListener("open", resolve));
  await attempt("too many sockets", async () => {
    const answer = await sendRaw(port, upgrade("/v1/ws"));
    expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "1"]);
    expectSafe(answer);
  });
  open.close();
});

testThreat("clickjacking", "sends Strict-Transport-Security over HTTPS only", async ({ attempt }) => {
  const { port } = await openServer({ trustedProxies: ["loopback"], hosts: ["loom.example.com"] });
  const by = (proto: string): HeaderValues => ({
    "x-forwarded-proto": proto,
    "x-forwarded-host": "loom.example.com",
    "x-forwarded-for": "203.0.113.9",
  });
  for (const path of ["/healthz", "/", "/nothing", "/v1/ws"])
    await attempt(path, async () => {
      const value = async (proto: string) =>
        (await ask(port, "GET", path, by(proto))).headers.get("strict-transport-security");
      expect([await value("https"), await value("http")]).toEqual(["max-age=31536000", null]);
    });
});
