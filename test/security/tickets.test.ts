/**
 * Tickets are part of a URL, which may be logged, shared or replayed. Each is valid once, for seconds, and only where a
 * browser cannot send a header.
 */
import { describe, expect, onTestFinished } from "vitest";
import { WebSocket } from "ws";
import { agent } from "../../src/agents/index.ts";
import { MemoryLog } from "../../src/log/index.ts";
import { ScriptedModel } from "../../src/models/testing.ts";
import type { NewToken } from "../../src/server/auth/credentials/credentials.ts";
import { openCredentials } from "../../src/server/auth/credentials/open-credentials.ts";
import { startLoomServer } from "../../src/server/loom-server.ts";
import { createClock } from "../server/auth-fixture.ts";
import { testThreat } from "./test-threat.ts";

const SOCKETS = ["/v1/ws", "/agentOS/v1/ws_stream"] as const;

async function createFixture() {
  const log = new MemoryLog();
  const credentials = openCredentials(":memory:");
  const agents = { main: agent({ model: new ScriptedModel([{ text: "Hello." }]) }) };
  const server = await startLoomServer({
    log,
    agents,
    port: 0,
    auth: { credentials, maxFailures: 10_000 },
  });
  onTestFinished(async () => {
    await server.close({ graceMs: 0 });
    await credentials.close();
  });
  await log.createSession("mine", { owner: "ann" });
  await log.createSession("also-mine", { owner: "ann" });
  await log.createSession("theirs", { owner: "bob" });
  let tokens = 0;
  const makeToken = async (token: Partial<NewToken> = {}): Promise<string> =>
    (await credentials.createToken({ name: `t${++tokens}`, owner: "ann", ...token })).secret;
  const ask = (path: string, init: RequestInit & { readonly bearer?: string } = {}): Promise<Response> => {
    const { bearer, ...rest } = init;
    const headers = new Headers(rest.headers);
    headers.set("accept", "application/problem+json, */*");
    if (bearer !== undefined) headers.set("authorization", `Bearer ${bearer}`);
    return fetch(`${server.url}${path}`, { ...rest, headers });
  };
  /** Returns the status and the error code, or `ok`. */
  const read = async (path: string, init: RequestInit & { readonly bearer?: string } = {}): Promise<string> => {
    const response = await ask(path, init);
    const { code } = response.ok
      ? (await response.text(), { code: "ok" })
      : ((await response.json()) as { readonly code: string });
    return `${response.status} ${code}`;
  };
  const post = (body: object, bearer?: string): RequestInit & { readonly bearer?: string } => ({
    method: "POST",
    body: JSON.stringify(body),
    headers: { "content-type": "application/json" },
    ...(bearer !== undefined && { bearer }),
  });
  const makeTicket = async (bearer: string, session_id?: string): Promise<string> => {
    const response = await ask("/v1/auth/tickets", post(session_id === undefined ? {} : { session_id }, bearer));
    expect(response.status).toBe(201);
    return ((await response.json()) as { readonly ticket: string }).ticket;
  };
  /** Opens a socket. Returns status 101, or the status of the refusal. */
  const dial = async (
    path: string,
    ticket: string,
  ): Promise<{ readonly status: number; readonly socket: WebSocket }> => {
    const socket = new WebSocket(`${server.url.replace("http", "ws")}${path}?ticket=${encodeURIComponent(ticket)}`);
    onTestFinished(() => socket.terminate());
    const status = await new Promise<number>((resolve) => {
      socket.on("open", () => resolve(101));
      socket.on("unexpected-response", (_request, { statusCode = 0 }) => resolve(statusCode));
      socket.on("error", () => undefined);
    });
    return { status, socket };
  };
  const stream = (ticket: string, session = "mine"): string =>
    `/v1/sessions/${session}/events?ticket=${encodeURIComponent(ticket)}`;
  return { log, credentials, server, makeToken, makeTicket, ask, read, post, dial, stream };
}

/** Sends one control frame and returns the response to it. */
async function sendFrame(
  socket: WebSocket,
  frame: { readonly id: string },
): Promise<{ readonly [name: string]: unknown }> {
  return new Promise((resolve) => {
    socket.on("message", (data: Buffer) => {
      const answer = JSON.parse(data.toString()) as { readonly [name: string]: unknown };
      if (answer["id"] === frame.id) resolve(answer);
    });
    socket.send(JSON.stringify(frame));
  });
}

const REFUSED = "401 unauthorized";

describe("a ticket", () => {
  testThreat("ticket-replay", "is valid once", async ({ attempt }) => {
    const { makeToken, makeTicket, read, dial, stream } = await createFixture();
    const token = await makeToken();
    const uses = [
      ["a stream", async (ticket: string) => Number((await read(stream(ticket))).slice(0, 3))],
      ...SOCKETS.map((path) => [path, async (ticket: string) => (await dial(path, ticket)).status] as const),
    ] as const;
    for (const [first, use] of uses)
      for (const [second, again] of uses)
        await attempt(`${first}, then ${second}`, async () => {
          const ticket = await makeTicket(token);
          expect([200, 101]).toContain(await use(ticket));
          expect(await again(ticket)).toBe(401);
          expect(await use(ticket)).toBe(401);
        });
  });

  testThreat("ticket-replay", "is accepted once when used concurrently", async ({ attempt }) => {
    const { makeToken, makeTicket, read, dial, stream } = await createFixture();
    const token = await makeToken();
    for (let round = 0; round < 10; round++)
      await attempt(`round ${round}`, async () => {
        const ticket = await makeTicket(token);
        const uses = Array.from({ length: 8 }, async (_, i) =>
          i % 2 === 0 ? (await read(stream(ticket))).startsWith("200") : (await dial("/v1/ws", ticket)).status === 101,
        );
        expect((await Promise.all(uses)).filter(Boolean)).toHaveLength(1);
      });
  });

  testThreat("ticket-replay", "expires after 30 seconds, or with its credential", async ({ attempt }) => {
    const wait = createClock();
    const { makeToken, makeTicket, read, dial, stream } = await createFixture();
    const lasting = await makeToken();
    const late = await Promise.all([1, 2, 3].map(() => makeTicket(lasting)));
    wait(30_000);
    await attempt("expired, for a stream", async () => expect(await read(stream(late[0]!))).toBe(REFUSED));
    for (const [i, path] of SOCKETS.entries())
      await attempt(`expired, for ${path}`, async () => expect((await dial(path, late[i + 1]!)).status).toBe(401));
    await attempt("of an expired token", async () => {
      const ticket = await makeTicket(await makeToken({ expiresAt: Date.now() + 20_000 }));
      wait(20_000);
      expect(await read(stream(ticket))).toBe(REFUSED);
    });
  });

  testThreat("ticket-replay", "is invalid if its credential was revoked", async ({ attempt }) => {
    const { makeToken, makeTicket, read, dial, stream, credentials, log, ask, post } = await createFixture();
    await attempt("a token", async () => {
      const ticket = await makeTicket(await makeToken({ name: "gone" }));
      await credentials.revokeToken("gone");
      expect(await read(stream(ticket))).toBe(REFUSED);
    });
    await attempt("a token, for a socket", async () => {
      const ticket = await makeTicket(await makeToken({ name: "gone-too" }));
      await credentials.revokeToken("gone-too");
      expect((await dial("/v1/ws", ticket)).status).toBe(401);
    });
    await attempt("a share link", async () => {
      const { incarnation } = (await log.getSession("mine"))!;
      const { secret, info } = await credentials.createShare({ session: "mine", incarnation, owner: "ann" });
      const ticket = await makeTicket(secret, "mine");
      await credentials.revokeShare("mine", info.shareId);
      expect(await read(stream(ticket))).toBe(REFUSED);
    });
    await attempt("a cookie", async () => {
      const signedIn = await ask("/v1/auth/sign-in", post({ credential: await makeToken() }));
      const cookie = signedIn.headers.getSetCookie()[0]?.split(";", 1)[0] ?? "";
      const own = { cookie, "sec-fetch-site": "same-origin" };
      const made = await ask("/v1/auth/tickets", { method: "POST", headers: own });
      expect(made.status).toBe(201);
      const { ticket } = (await made.json()) as { readonly ticket: string };
      expect((await ask("/v1/auth/sign-out", { method: "POST", headers: own })).status).toBe(204);
      expect(await read(stream(ticket))).toBe(REFUSED);
    });
  });

  testThreat("ticket-replay", "for one session gives no access to another", async ({ attempt }) => {
    const { makeToken, makeTicket, ask, read, dial, stream, post } = await createFixture();
    const token = await makeToken();
    const describeRefusal = async (session: string): Promise<string> => {
      const response = await ask(stream(await makeTicket(token, "mine"), session));
      const { id: _, ...problem } = (await response.json()) as { readonly id: string };
      return JSON.stringify([response.status, problem]).replaceAll(session, "…");
    };
    expect(await read(stream(await makeTicket(token, "mine")))).toBe("200 ok");
    const missing = await describeRefusal("nowhere");
    expect(missing).toContain("unknown_session");
    for (const session of ["also-mine", "theirs"])
      await attempt(`a stream of ${session}`, async () => expect(await describeRefusal(session)).toBe(missing));
    await attempt("the list of sessions", async () => {
      expect(await read(`/v1/sessions?ticket=${await makeTicket(token, "mine")}`)).toBe("403 forbidden");
    });
    const { socket, status } = await dial("/v1/ws", await makeTicket(token, "mine"));
    expect(status).toBe(101);
    const subscribe = (session: string) =>
      sendFrame(socket, { id: `of ${session}`, type: "subscribe", session, dialect: "loom", follow: false } as {
        id: string;
      });
    expect(await subscribe("mine")).toMatchObject({ type: "subscribed" });
    for (const session of ["also-mine", "theirs", "nowhere"])
      await attempt(`${session} over a socket`, async () =>
        expect(await subscribe(session)).toMatchObject({ type: "refusal", code: "unknown_session" }),
      );
    await attempt("a ticket for a session of another owner", async () =>
      expect(await read("/v1/auth/tickets", post({ session_id: "theirs" }, token))).toBe("404 unknown_session"),
    );
  });

  testThreat("ticket-replay", "is accepted only for reading with GET and for sockets", async ({ attempt }) => {
    const { makeToken, makeTicket, read, stream, post } = await createFixture();
    const token = await makeToken();
    const ticket = await makeTicket(token);
    const brought = `ticket=${ticket}`;
    const endpoints: readonly (readonly [string, RequestInit])[] = [
      [`/v1/sessions?${brought}`, post({})],
      [`/v1/auth/tickets?${brought}`, post({})],
      [`/v1/sessions/mine?${brought}`, { method: "DELETE" }],
      [`/v1/sessions/mine?${brought}`, { ...post({ title: "x" }), method: "PATCH" }],
      [`/v1/sessions/mine/runs?${brought}`, post({ message: "x" })],
      [`/v1/sessions/mine/commands?${brought}`, post({ type: "cancel", id: "c", session: "mine", run_id: "r" })],
      [`/v1/sessions/mine/shares?${brought}`, post({})],
      [`/api/chat?${brought}`, post({ message: "x" })],
      ["/v1/sessions", { headers: { authorization: `Bearer ${ticket}` } }],
      ["/v1/sessions", { headers: { cookie: `loom-session-80=${ticket}` } }],
    ];
    for (const [path, init] of endpoints)
      await attempt(`${init.method ?? "GET"} ${path.replace(ticket, "…")}`, async () =>
        expect(await read(path, init)).toBe(REFUSED),
      );
    await attempt("with an invalid token", async () =>
      expect(await read(stream(ticket), { bearer: `${token}x` })).toBe(REFUSED),
    );
    // A refused ticket is not used up.
    expect(await read(stream(ticket))).toBe("200 ok");
  });

  testThreat("ticket-replay", "is rejected if changed or replaced by another secret", async ({ attempt }) => {
    const { makeToken, makeTicket, read, dial, stream, credentials, log } = await createFixture();
    const token = await makeToken();
    const { incarnation } = (await log.getSession("mine"))!;
    const ticket = await makeTicket(token);
    const other = await makeTicket(token);
    const [, , id = ""] = ticket.split("_");
    const wrong: { readonly [what: string]: string } = {
      "a token": token,
      "a share link": (await credentials.createShare({ session: "mine", incarnation, owner: "ann" })).secret,
      "a cookie": (await credentials.createCookie((await credentials.find(token))!, Date.now() + 60_000)).secret,
      nothing: "",
      "its id": `loom_tkt_${id}_`,
      "the secret of another ticket": `loom_tkt_${id}_${other.slice(-43)}`,
      "one character less": ticket.slice(0, -1),
      "one character more": `${ticket}A`,
      "in upper case": ticket.toUpperCase(),
      "with a space": `${ticket} `,
      "with NUL": `${ticket}\0`,
      "with an SQL injection": `${ticket.slice(0, 20)}' OR '1'='1`,
    };
    for (const [what, text] of Object.entries(wrong)) {
      await attempt(`${what}, for a stream`, async () => expect(await read(stream(text))).toBe(REFUSED));
      await attempt(`${what}, for a socket`, async () => expect((await dial("/v1/ws", text)).status).toBe(401));
    }
    expect([await read(stream(ticket)), await read(stream(other))]).toEqual(["200 ok", "200 ok"]);
  });

  testThreat("ticket-replay", "gives no more permission than its credential", async ({ attempt }) => {
    const { makeToken, makeTicket, read, dial, log, credentials, post } = await createFixture();
    const { incarnation } = (await log.getSession("mine"))!;
    const link = (await credentials.createShare({ session: "mine", incarnation, owner: "ann" })).secret;
    for (const [who, secret] of [
      ["a reader", await makeToken({ scopes: ["read"] })],
      ["a share link", link],
    ] as const) {
      const { socket } = await dial("/v1/ws", await makeTicket(secret));
      for (const [name, frame] of Object.entries({
        run: { type: "run", id: "1", session: "mine", message: "x" },
        "run in a new session": { type: "run", id: "2", session: "new", message: "x" },
        cancel: { type: "cancel", id: "3", session: "mine", run_id: "r" },
        approve: { type: "approve", id: "4", session: "mine", run_id: "r", call_id: "c", decision: "approved" },
        "subscribe to another owner's session": { type: "subscribe", id: "5", session: "theirs", dialect: "loom" },
      }))
        await attempt(`${who}: ${name}`, async () => {
          const answer = await sendFrame(socket, frame);
          expect(answer).toMatchObject({ type: "refusal" });
          expect(["forbidden", "unauthorized", "unknown_session"]).toContain(answer["code"]);
        });
    }
    expect(await log.listPending("mine", 10)).toEqual([]);
    expect(await log.getSession("new")).toBeUndefined();
    await attempt("without a credential", async () => expect(await read("/v1/auth/tickets", post({}))).toBe(REFUSED));
  });
});
