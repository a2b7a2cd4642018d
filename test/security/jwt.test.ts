/**
 * JWTs of an external issuer: forged tokens are rejected, and so are all tokens while the issuer's keys are
 * unavailable.
 */
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished } from "vitest";
import { WebSocket } from "ws";
import { agent } from "../../src/agents/index.ts";
import { MemoryLog } from "../../src/log/index.ts";
import { ScriptedModel } from "../../src/models/testing.ts";
import type { AuthOptions } from "../../src/server/auth/access.ts";
import { startLoomServer } from "../../src/server/loom-server.ts";
import { testThreat } from "./test-threat.ts";
import { AUDIENCE, ISSUER, listForgeries, makeKeyPair, signJwt } from "./jwt-issuer.ts";

/** A server, and a key server that can fail. */
async function createFixture({ maxFailures = 1000, limits }: Pick<AuthOptions, "maxFailures" | "limits"> = {}) {
  const [own, other] = await Promise.all([makeKeyPair("one"), makeKeyPair("one")]);
  const state = { isDown: false, delayMs: 0 };
  const keys = createServer((_, response) => {
    const answer = (): unknown =>
      state.isDown ? response.writeHead(500).end() : response.end(JSON.stringify({ keys: [own.jwk] }));
    if (state.delayMs === 0) answer();
    else setTimeout(answer, state.delayMs);
  });
  await new Promise<void>((resolve) => keys.listen(0, "127.0.0.1", resolve));
  const jwks = `http://127.0.0.1:${(keys.address() as AddressInfo).port}/`;
  const log = new MemoryLog();
  const server = await startLoomServer({
    log,
    port: 0,
    agents: { main: agent({ model: new ScriptedModel([]) }) },
    auth: { jwt: { jwks, issuer: ISSUER, audience: AUDIENCE }, maxFailures, limits },
  });
  onTestFinished(async () => {
    await server.close({ graceMs: 0 });
    keys.closeAllConnections();
    keys.close();
  });
  await log.createSession("s", { owner: "jwt:alice" });
  const ask = (path: string, jwt: string): Promise<Response> =>
    fetch(server.url + path, { headers: { authorization: `Bearer ${jwt}` } });
  const signIn = (credential: string): Promise<Response> =>
    fetch(`${server.url}/v1/auth/sign-in`, {
      method: "POST",
      headers: { "content-type": "application/json", origin: server.url },
      body: JSON.stringify({ credential }),
    });
  return { server, own, other, jwks, state, ask, signIn };
}

testThreat("jwt-forgery", "rejects a forged JWT for requests and for sign-in", async ({ attempt }) => {
  const { own, other, jwks, ask, signIn } = await createFixture();
  const good = await signJwt(own);
  expect([(await ask("/v1/sessions/s", good)).status, (await signIn(good)).status]).toEqual([200, 200]);
  for (const [what, forged] of listForgeries(own, other, jwks)) {
    const jwt = await forged;
    await attempt(`${what}, as a bearer token`, async () => {
      const { status } = await ask("/v1/sessions/s", jwt);
      // A token that is too long exceeds the limit for headers.
      expect([401, 431]).toContain(status);
    });
    await attempt(`${what}, for sign-in`, async () => {
      const response = await signIn(jwt);
      expect([response.status, response.headers.get("set-cookie")]).toEqual([401, null]);
    });
  }
});

testThreat("jwt-forgery", "enforces the subject and the scopes of a JWT", async ({ attempt }) => {
  const { own, ask } = await createFixture();
  const cases: readonly (readonly [object, string, number])[] = [
    [{}, "/v1/sessions/s", 200],
    [{ sub: "bob" }, "/v1/sessions/s", 404],
    [{ sub: "jwt:alice" }, "/v1/sessions/s", 404],
    [{ sub: "Alice" }, "/v1/sessions/s", 404],
    [{ sub: "local" }, "/v1/sessions/s", 404],
    [{ scope: "loom:run" }, "/v1/sessions/s", 403],
    // Scopes of another service of the same issuer.
    [{ scope: "read run admin" }, "/v1/sessions", 403],
    [{ scope: undefined, scp: ["admin", "read"] }, "/v1/sessions", 403],
    // `admin` is above the ceiling.
    [{ sub: "bob", scope: "loom:read loom:admin" }, "/v1/sessions/s", 404],
    [{ scope: "loom:admin" }, "/v1/sessions", 403],
    [{ scope: "loom:read loom:metrics" }, "/metrics", 403],
    [{ scope: "openid" }, "/v1/sessions", 403],
    [{ scope: undefined }, "/v1/sessions", 403],
    [{ sub: "bob", scope: "loom:read loom:adminx administrator" }, "/v1/sessions/s", 404],
  ];
  for (const [claims, path, status] of cases)
    await attempt(JSON.stringify(claims), async () => {
      expect((await ask(path, await signJwt(own, { ...claims }))).status).toBe(status);
    });
});

testThreat("jwt-forgery", "rejects all JWTs with 503 while the keys are unavailable", async ({ attempt }) => {
  const { own, other, state, ask } = await createFixture();
  state.isDown = true;
  for (const by of [own, other])
    await attempt(by === own ? "a valid JWT" : "a forged JWT", async () => {
      const response = await ask("/v1/sessions/s", await signJwt(by));
      expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([503, "keys_unavailable"]);
    });
});

testThreat("guessed-credentials", "forged JWTs do not lock out a valid one", async ({ attempt }) => {
  const { own, other, ask, signIn } = await createFixture({ maxFailures: 3 });
  const [good, forged] = [await signJwt(own), await signJwt(other)];
  const statuses: number[] = [];
  for (let at = 0; at < 5; at++) statuses.push((await ask("/v1/sessions", forged)).status);
  await attempt("guesses", () => expect(statuses).toEqual([401, 401, 401, 429, 429]));
  await attempt("a valid bearer token", async () => expect((await ask("/v1/sessions", good)).status).toBe(200));
  await attempt("a valid sign-in", async () => expect((await signIn(good)).status).toBe(200));
});

testThreat("flooding", "a socket that closes during authentication does not count as open", async ({ attempt }) => {
  const { server, own, state } = await createFixture({ limits: { maxStreams: 1 } });
  const jwt = await signJwt(own);
  state.delayMs = 200;
  await attempt("a second socket", async () => {
    const socket = connect(server.port, "127.0.0.1");
    const head = ["GET /v1/ws HTTP/1.1", `Host: 127.0.0.1:${server.port}`, "Connection: Upgrade", "Upgrade: websocket"];
    const key = ["Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=="];
    socket.write(`${[...head, ...key, `Authorization: Bearer ${jwt}`].join("\r\n")}\r\n\r\n`);
    await sleep(50);
    socket.resetAndDestroy();
    await sleep(400);
    const ws = new WebSocket(`ws://127.0.0.1:${server.port}/v1/ws`, { headers: { authorization: `Bearer ${jwt}` } });
    const status = await new Promise<number>((resolve) => {
      ws.once("open", () => resolve(101));
      ws.once("unexpected-response", (_, { statusCode = 0 }) => resolve(statusCode));
      ws.once("error", () => resolve(0));
    });
    ws.terminate();
    expect(status).toBe(101);
  });
});
