/**
 * What a browser does for a page of somebody else: it sends the cookie of whoever is signed in, to any address, with any
 * form. A cookie counts for the server's own page alone, so none of it does anything.
 */
import { expect, onTestFinished } from "vitest";
import { WebSocket } from "ws";
import { agent } from "../../src/agents/index.ts";
import { MemoryLog } from "../../src/log/index.ts";
import { ScriptedModel } from "../../src/models/testing.ts";
import { OPERATIONS } from "../../src/server/api/operations.ts";
import { openCredentials } from "../../src/server/auth/credentials/open-credentials.ts";
import { startLoomServer } from "../../src/server/loom-server.ts";
import { itHolds } from "./it-holds.ts";

type Headers = { readonly [name: string]: string };

/** An origin that may ask, with a token of its own. */
const FRIEND = "https://app.example.com";

async function setStage() {
  const log = new MemoryLog();
  const credentials = openCredentials(":memory:");
  const agents = { main: agent({ model: new ScriptedModel([{ text: "Hello." }]) }) };
  const auth = { credentials, limits: { requestsPerMinute: 100_000 } };
  const server = await startLoomServer({ log, agents, port: 0, auth, origins: [FRIEND] });
  onTestFinished(async () => {
    await server.close({ graceMs: 0 });
    credentials.close();
  });
  await log.createSession("s", { owner: "ann", title: "As it was" });
  const { secret } = credentials.createToken({ name: "ann", owner: "ann", scopes: ["admin"] });
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

/** How pages of others, and of our own name with something about it, are told from ours. */
function listPages(own: string): { readonly [what: string]: Headers } {
  return {
    "another site": { origin: "https://evil.example", "sec-fetch-site": "cross-site" },
    "a friend": { origin: FRIEND, "sec-fetch-site": "cross-site" },
    "no origin": { origin: "null", "sec-fetch-site": "cross-site" },
    "no origin, in a frame of ours": { origin: "null", "sec-fetch-site": "same-origin" },
    "another port": { origin: "http://127.0.0.1:1", "sec-fetch-site": "same-site" },
    "our name in another scheme": { origin: own.replace("http:", "https:") },
    "our name and more": { origin: `${own}.evil.example` },
    "more and our name": { origin: own.replace("127", "evil-127") },
    "our name as a user": { origin: `${own}@evil.example` },
    "another site that does not say which": { "sec-fetch-site": "cross-site" },
    "another name of the same site": { "sec-fetch-site": "same-site" },
    "nobody who says": {},
  };
}

/** What forms of any site can be sent as, and what scripts send. */
const TYPES = ["application/json", "text/plain", "application/x-www-form-urlencoded", undefined] as const;

const BODY = { message: "Hi", content: "Hi", title: "Theirs", decision: "approved", session_id: "s" };

itHolds(
  "csrf",
  "a page of others changes nothing, at any door, with the cookie of whoever is signed in",
  async (attempts) => {
    const { log, credentials, own, cookie, ask } = await setStage();
    // Theirs, to make somebody work in their name.
    const credential = credentials.createToken({ name: "eve", owner: "eve" }).secret;
    const body = JSON.stringify({ ...BODY, credential });
    const unsafe = OPERATIONS.filter(({ method }) => method !== "GET");
    expect(unsafe.length).toBeGreaterThan(15);
    for (const { method, path: pattern, id, action } of unsafe) {
      const path = pattern.replace("{id}", "s").replaceAll(/\{\w+\}/g, "x");
      for (const [what, page] of Object.entries(listPages(own)))
        for (const type of TYPES) {
          // Programs may sign in, with a token that they have, and out, which takes nothing from anybody.
          if (/^sign(?:In|Out)$/.test(id) && what === "nobody who says") continue;
          const headers = { cookie, ...page, ...(type !== undefined && { "content-type": type }) };
          await attempts.attempt(`${id}, ${what}, ${type}`, async () => {
            const response = await ask(method, path, headers, method === "DELETE" ? undefined : body);
            // Doors that are open to all look at what is brought before they look at who brings it.
            expect(action === "public" ? [400, 401, 403, 415] : [401, 403]).toContain(response.status);
            expect(response.headers.getSetCookie()).toEqual([]);
          });
        }
    }
    const { title, lastId } = (await log.getSession("s"))!;
    expect([title, lastId, (await log.listSessions()).length]).toEqual(["As it was", 0, 1]);
    expect(await log.listPending("s", 10)).toEqual([]);
    expect(credentials.listShares("s", (await log.getSession("s"))!.incarnation)).toEqual([]);
    // The page itself may, and is still signed in.
    const renamed = await ask(
      "PATCH",
      "/v1/sessions/s",
      { cookie, origin: own, "content-type": "application/json" },
      body,
    );
    expect(renamed.status).toBe(200);
  },
);

itHolds("csrf", "a page of others reads nothing with it", async ({ attempt }) => {
  const { own, cookie, ask } = await setStage();
  for (const [what, page] of Object.entries(listPages(own))) {
    // Reads of a page that is not served securely say nothing; other sites cannot read what is answered.
    if (what === "nobody who says") continue;
    for (const path of ["/v1/sessions", "/v1/sessions/s", "/v1/sessions/s/events", "/v1/sessions/s/export"])
      await attempt(`${path}, ${what}`, async () => {
        expect([401, 403]).toContain((await ask("GET", path, { cookie, ...page })).status);
      });
  }
  expect((await ask("GET", "/v1/sessions/s", { cookie, "sec-fetch-site": "same-origin" })).status).toBe(200);
});

itHolds(
  "socket-hijack",
  "a page of others opens no socket with the cookie of whoever is signed in",
  async ({ attempt }) => {
    const { own, dial } = await setStage();
    for (const path of ["/v1/ws", "/agentOS/v1/ws_stream"]) {
      for (const [what, page] of Object.entries(listPages(own)))
        await attempt(`${path}, ${what}`, async () => {
          const status = await dial(path, page);
          // A friend may come in as nobody, and be told at every door who they are not.
          expect([401, 403]).toContain(status);
        });
      expect(await dial(path, { origin: own })).toBe(101);
    }
  },
);
