/**
 * Requests that a browser sends for a page of another site, with the cookie of the signed-in user. The server accepts
 * the cookie only from its own page, so they have no effect.
 */
import { expect, onTestFinished } from "vitest";
import { WebSocket } from "ws";
import { agent } from "../../src/agents/index.ts";
import { MemoryLog } from "../../src/log/index.ts";
import { ScriptedModel } from "../../src/models/testing.ts";
import { OPERATIONS } from "../../src/server/operations.ts";
import { openCredentials } from "../../src/server/auth/credentials/open-credentials.ts";
import { startLoomServer } from "../../src/server/loom-server.ts";
import { testThreat } from "./test-threat.ts";

type Headers = { readonly [name: string]: string };

/** An allowed origin. It needs its own token. */
const ALLOWED_ORIGIN = "https://app.example.com";

async function createFixture() {
  const log = new MemoryLog();
  const credentials = openCredentials(":memory:");
  const agents = { main: agent({ model: new ScriptedModel([{ text: "Hello." }]) }) };
  const auth = { credentials, limits: { requestsPerMinute: 100_000 } };
  const server = await startLoomServer({ log, agents, port: 0, auth, origins: [ALLOWED_ORIGIN] });
  onTestFinished(async () => {
    await server.close({ graceMs: 0 });
    await credentials.close();
  });
  await log.createSession("s", { owner: "ann", title: "Original title" });
  const { secret } = await credentials.createToken({ name: "ann", owner: "ann", scopes: ["admin"] });
  const own = `http://127.0.0.1:${server.port}`;
  const ask = (method: string, path: string, headers: Headers, body?: string): Promise<Response> =>
    server.handler.fetch(new Request(own + path, { method, headers, ...(body !== undefined && { body }) }));
  const signedIn = await ask(
    "POST",
    "/v1/auth/sign-in",
    { origin: own, "content-type": "application/json" },
    JSON.stringify({ credential: secret }),
  );
  const cookie = signedIn.headers.getSetCookie()[0]?.split(";", 1)[0] ?? "";
  const dial = (path: string, headers: Headers): Promise<number> => {
    const socket = new WebSocket(`${own.replace("http", "ws")}${path}`, { headers: { cookie, ...headers } });
    onTestFinished(() => socket.terminate());
    return new Promise((resolve) => {
      socket.on("open", () => resolve(101));
      socket.on("unexpected-response", (_request, { statusCode = 0 }) => resolve(statusCode));
      socket.on("error", () => undefined);
    });
  };
  return { log, credentials, own, cookie, ask, dial };
}

/** Headers that browsers send for pages of other origins, including origins that resemble the server's. */
function listPages(own: string): { readonly [what: string]: Headers } {
  return {
    "another site": { origin: "https://evil.example", "sec-fetch-site": "cross-site" },
    "an allowed origin": { origin: ALLOWED_ORIGIN, "sec-fetch-site": "cross-site" },
    "an opaque origin": { origin: "null", "sec-fetch-site": "cross-site" },
    "an opaque origin in a frame of our page": { origin: "null", "sec-fetch-site": "same-origin" },
    "another port": { origin: "http://127.0.0.1:1", "sec-fetch-site": "same-site" },
    "our host with another scheme": { origin: own.replace("http:", "https:") },
    "our origin with a suffix": { origin: `${own}.evil.example` },
    "our origin with a prefix": { origin: own.replace("127", "evil-127") },
    "our origin as user info": { origin: `${own}@evil.example` },
    "a cross-site page without an origin": { "sec-fetch-site": "cross-site" },
    "a same-site page without an origin": { "sec-fetch-site": "same-site" },
    "no browser headers": {},
  };
}

/** Content types of forms and scripts. */
const TYPES = ["application/json", "text/plain", "application/x-www-form-urlencoded", undefined] as const;

const BODY = { message: "Hi", content: "Hi", title: "Theirs", decision: "approved", session_id: "s" };

testThreat(
  "csrf",
  "a page of another site cannot change anything at any endpoint with the user's cookie",
  async (attempts) => {
    const { log, credentials, own, cookie, ask } = await createFixture();
    // The attacker's credential, to sign the user in as the attacker.
    const credential = (await credentials.createToken({ name: "eve", owner: "eve" })).secret;
    const body = JSON.stringify(BODY);
    const signIn = JSON.stringify({ credential });
    const unsafe = OPERATIONS.filter(({ method }) => method !== "GET");
    expect(unsafe.length).toBeGreaterThan(15);
    for (const { method, path: pattern, id, action } of unsafe) {
      const path = pattern.replace("{id}", "s").replaceAll(/\{\w+\}/g, "x");
      for (const [what, page] of Object.entries(listPages(own)))
        for (const type of TYPES) {
          // Programs may sign in with their token and sign out; neither affects the user.
          if (/^sign(?:In|Out)$/.test(id) && what === "no browser headers") continue;
          const headers = { cookie, ...page, ...(type !== undefined && { "content-type": type }) };
          await attempts.attempt(`${id}, ${what}, ${type}`, async () => {
            const response = await ask(
              method,
              path,
              headers,
              method === "DELETE" ? undefined : id === "signIn" ? signIn : body,
            );
            // Public endpoints validate the body before they check the origin.
            expect(action === "public" ? [400, 401, 403, 415] : [401, 403]).toContain(response.status);
            expect(response.headers.getSetCookie()).toEqual([]);
          });
        }
    }
    const { title, lastId } = (await log.getSession("s"))!;
    expect([title, lastId, (await log.listSessions()).length]).toEqual(["Original title", 0, 1]);
    expect(await log.listPending("s", 10)).toEqual([]);
    expect(await credentials.listShares("s", (await log.getSession("s"))!.incarnation)).toEqual([]);
    // The server's own page still works and is still signed in.
    const renamed = await ask(
      "PATCH",
      "/v1/sessions/s",
      { cookie, origin: own, "content-type": "application/json" },
      JSON.stringify({ title: BODY.title }),
    );
    expect(renamed.status).toBe(200);
  },
);

testThreat("csrf", "a page of another site cannot read anything with the user's cookie", async ({ attempt }) => {
  const { own, cookie, ask } = await createFixture();
  for (const [what, page] of Object.entries(listPages(own))) {
    // Browsers send none of these headers for reads from plain HTTP pages. Other sites cannot read the response.
    if (what === "no browser headers") continue;
    for (const path of ["/v1/sessions", "/v1/sessions/s", "/v1/sessions/s/events", "/v1/sessions/s/export"])
      await attempt(`${path}, ${what}`, async () => {
        expect([401, 403]).toContain((await ask("GET", path, { cookie, ...page })).status);
      });
  }
  expect((await ask("GET", "/v1/sessions/s", { cookie, "sec-fetch-site": "same-origin" })).status).toBe(200);
});

testThreat(
  "socket-hijack",
  "a page of another site cannot open a WebSocket with the user's cookie",
  async ({ attempt }) => {
    const { own, dial } = await createFixture();
    for (const path of ["/v1/ws", "/agentOS/v1/ws_stream", "/openai/v1/responses"]) {
      for (const [what, page] of Object.entries(listPages(own)))
        await attempt(`${path}, ${what}`, async () => {
          const status = await dial(path, page);
          // An allowed origin is not refused for its origin, but the cookie does not authenticate it.
          expect([401, 403]).toContain(status);
        });
      expect(await dial(path, { origin: own })).toBe(101);
    }
  },
);
