// Revoked and expired credentials: every stream and socket they opened closes within seconds, and they are rejected
// from then on. HTTP streams break off, so that clients do not take them for complete; sockets close with a reason.
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { get, type IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { setTimeout } from "node:timers/promises";
import { expect, onTestFinished, vi } from "vitest";
import type { Script } from "../../src/models/scripted-model.ts";
import type { ServedKnowledge } from "../../src/server/api/server-core.ts";
import { createEntry } from "../../src/log/entry.ts";
import { openBlobStore } from "../../src/server/blobs/open-blob-store.ts";
import { createMemoryBlobStore } from "../../src/server/blobs/create-memory-blob-store.ts";
import { SERVER_LIMITS } from "../../src/server/guard/server-limits.ts";
import { openCredentials } from "../../src/server/auth/credentials/open-credentials.ts";
import {
  type AuthServerFixture,
  type OpenConnection,
  OWNER,
  type RequestAuth,
  SESSION,
  createAuthServerFixture,
} from "./auth-server-fixture.ts";
import { testSlowThreat, testThreat } from "./test-threat.ts";

/** Documented maximum. It takes about half as long on an idle machine. */
const MAX_CLOSE_MS = 5000;

type OpenStream = (fixture: AuthServerFixture, auth: RequestAuth) => OpenConnection;

const EVENTS = `/v1/sessions/${SESSION}/events?follow=true`;
const STREAMS: { readonly [name: string]: OpenStream } = {
  "server-sent events": (fixture, auth) => fixture.openHttp(EVENTS, "text/event-stream", auth),
  NDJSON: (fixture, auth) => fixture.openHttp(EVENTS, "application/x-ndjson", auth),
  "the stream of a run": (fixture, auth) => fixture.openHttp(`${EVENTS}&run=r`, "text/event-stream", auth),
  "/v1/ws": (fixture, auth) => {
    const socket = fixture.openSocket("/v1/ws", auth);
    const subscribe = (): void => socket.send({ type: "subscribe", id: "1", session: SESSION });
    socket.started.then(subscribe, () => undefined);
    return { ...socket, started: waitForText(socket, "event_id") };
  },
  "/agentOS/v1/ws_stream": (fixture, auth) => {
    const socket = fixture.openSocket(`/agentOS/v1/ws_stream?session_id=${SESSION}&follow=1&after=0`, auth);
    return { ...socket, started: waitForText(socket, "Hey") };
  },
};
/** Waits for a message with this text. The rejection is handled here, because some tests expect a refusal. */
function waitForText(socket: OpenConnection, what: string): Promise<string> {
  const found = socket.waitFor((text) => text.includes(what));
  found.catch(() => undefined);
  return found;
}

/** Sockets that read no session. */
const IDLE_SOCKETS: { readonly [name: string]: OpenStream } = {
  "/v1/ws without a stream": (fixture, auth) => fixture.openSocket("/v1/ws", auth),
  "/agentOS/v1/ws_stream without a session": (fixture, auth) => fixture.openSocket("/agentOS/v1/ws_stream", auth),
};

/** A credential, how to end it, and how to use it again. */
interface RevocableAuth {
  /** A function, because a ticket can be used only once. */
  readonly auth: () => RequestAuth | Promise<RequestAuth>;
  readonly end: () => unknown;
  readonly again?: RequestAuth;
}

const CREDENTIALS: { readonly [name: string]: (fixture: AuthServerFixture) => RevocableAuth | Promise<RevocableAuth> } =
  {
    "a token": async (fixture) => {
      const { secret, info } = await fixture.issue();
      const auth = fixture.bearer(secret);
      return { auth: () => auth, end: () => fixture.credentials.revokeToken(info.tokenId), again: auth };
    },
    "a token that expires": async (fixture) => {
      const { secret } = await fixture.issue({ expiresAt: Date.now() + 1500 });
      const auth = fixture.bearer(secret);
      return { auth: () => auth, end: () => setTimeout(1500), again: auth };
    },
    "tickets of a token": async (fixture) => {
      const { secret, info } = await fixture.issue();
      const principal = await fixture.find(secret);
      return { auth: () => fixture.ticket(principal), end: () => fixture.credentials.revokeToken(info.tokenId) };
    },
    "a cookie whose token is revoked": async (fixture) => {
      const { secret, info } = await fixture.issue();
      const made = await fixture.credentials.createCookie(await fixture.find(secret), Date.now() + 60_000);
      const auth = fixture.sessionCookie(made.secret);
      return { auth: () => auth, end: () => fixture.credentials.revokeToken(info.tokenId), again: auth };
    },
    "a cookie that is signed out": async (fixture) => {
      const { secret } = await fixture.issue();
      const made = await fixture.credentials.createCookie(await fixture.find(secret), Date.now() + 60_000);
      const auth = fixture.sessionCookie(made.secret);
      return { auth: () => auth, end: () => fixture.credentials.deleteCookie(made.secret), again: auth };
    },
    "tickets of a cookie that is signed out": async (fixture) => {
      const { secret } = await fixture.issue();
      const made = await fixture.credentials.createCookie(await fixture.find(secret), Date.now() + 60_000);
      const principal = await fixture.find(made.secret);
      return { auth: () => fixture.ticket(principal), end: () => fixture.credentials.deleteCookie(made.secret) };
    },
    "a share link": async (fixture) => {
      const { secret, info } = await fixture.share();
      const auth = fixture.bearer(secret);
      return { auth: () => auth, end: () => fixture.credentials.revokeShare(SESSION, info.shareId), again: auth };
    },
    "a share link whose creator's token is revoked": async (fixture) => {
      const maker = (await fixture.issue()).info.tokenId;
      const { secret } = await fixture.share(`token:${maker}`);
      const auth = fixture.bearer(secret);
      return { auth: () => auth, end: () => fixture.credentials.revokeToken(maker), again: auth };
    },
    "the cookie of a share link": async (fixture) => {
      const { secret, info } = await fixture.share();
      const auth = fixture.shareCookie(info.shareId, secret);
      return { auth: () => auth, end: () => fixture.credentials.revokeShare(SESSION, info.shareId), again: auth };
    },
    "tickets of a share link": async (fixture) => {
      const { secret, info } = await fixture.share();
      const principal = await fixture.find(secret);
      return {
        auth: () => fixture.ticket(principal),
        end: () => fixture.credentials.revokeShare(SESSION, info.shareId),
      };
    },
  };

/** Creates a server with a run that has sent some text and is still running. */
async function createFixture(): Promise<AuthServerFixture> {
  const fixture = await createAuthServerFixture({
    script: [{ text: "Hey, you there.", fault: { kind: "stall", after: 3 } }],
  });
  const { secret } = await fixture.issue();
  const path = `/v1/sessions/${SESSION}/runs`;
  const started = await fixture.ask("POST", path, fixture.bearer(secret), { message: "go", run_id: "r" });
  expect(started.status).toBeLessThan(300);
  return fixture;
}

const within = (ended: Promise<string>, ms: number): Promise<string> =>
  Promise.race([ended, setTimeout(ms, "still open", { ref: false })]);

testThreat(
  "revoked-credentials",
  "closes all streams and sockets of a credential that ends",
  async ({ attempt }) => {
    const fixture = await createFixture();
    const otherAuth = fixture.bearer((await fixture.issue()).secret);
    const others = Object.values(STREAMS).map((stream) => stream(fixture, otherAuth));
    await Promise.all(others.map(({ started }) => started));
    const tries: Promise<void>[] = [];
    for (const [name, make] of Object.entries(CREDENTIALS)) {
      const credential = await make(fixture);
      const streams = Object.entries({ ...STREAMS, ...IDLE_SOCKETS });
      const opened = await Promise.all(
        streams.map(async ([stream, open]) => ({ stream, open: open(fixture, await credential.auth()) })),
      );
      await Promise.all(opened.map(({ open }) => open.started));
      const revoked = Promise.resolve(credential.end());
      for (const { stream, open } of opened)
        tries.push(
          attempt(`${name} at ${stream}`, async () => {
            await revoked;
            const expected = stream.startsWith("/") ? "1008 unauthorized" : "broken";
            expect(await within(open.ended, MAX_CLOSE_MS)).toBe(expected);
          }),
        );
      const { again } = credential;
      if (again === undefined) continue;
      for (const [stream, open] of streams)
        tries.push(
          attempt(`${name}, again at ${stream}`, async () => {
            await revoked;
            expect(await open(fixture, again).ended).toBe("401");
          }),
        );
    }
    await Promise.all(tries);
    // Other credentials keep their streams, and no error is reported.
    expect(await Promise.all(others.map(({ ended }) => within(ended, 10)))).toEqual(others.map(() => "still open"));
    expect(fixture.reported).toEqual([]);
  },
  { timeout: 30_000 },
);

testThreat("revoked-credentials", "does not start queued runs of a revoked token", async ({ attempt }) => {
  const asked: string[] = [];
  const script: Script = ({ prompt }) => {
    asked.push(JSON.stringify(prompt.at(-1)?.content));
    return asked.length === 1 ? { text: "Hey, you there.", fault: { kind: "stall", after: 3 } } : { text: "Yes." };
  };
  const fixture = await createAuthServerFixture({ script });
  const [own, other] = [await fixture.issue(), await fixture.issue()];
  const path = `/v1/sessions/${SESSION}/runs`;
  const send = async (secret: string, run_id: string): Promise<void> => {
    const { status } = await fixture.ask("POST", path, fixture.bearer(secret), { message: `of ${run_id}`, run_id });
    expect(status).toBeLessThan(300);
  };
  const statusOf = async (run: string): Promise<string | undefined> =>
    (await fixture.log.listRuns(SESSION)).find(({ runId }) => runId === run)?.status;
  for (const run of ["a", "b"]) await send(own.secret, run);
  await send(other.secret, "c");
  await fixture.credentials.revokeToken(own.info.tokenId);
  await fixture.ask("POST", `${path}/a/cancel`, fixture.bearer(other.secret), {});
  await attempt("a queued message of a revoked token", async () => {
    await expect.poll(() => statusOf("b")).toBe("error");
    const events = await fixture.ask("GET", `/v1/sessions/${SESSION}/events?run=b`, fixture.bearer(other.secret));
    expect(await events.text()).toContain('"code":"unauthorized"');
  });
  // Queued runs of other tokens start.
  await expect.poll(() => statusOf("c")).toBe("completed");
  expect(asked).toEqual([expect.stringContaining("of a"), expect.stringContaining("of c")]);
});

testThreat("revoked-credentials", "a socket stays open without the session whose share link was revoked", async () => {
  const fixture = await createFixture();
  const { secret, info } = await fixture.share();
  const other = await fixture.issue({ owner: "bob" });
  await fixture.log.createSession("b", { owner: "bob" });
  const made = await fixture.credentials.createCookie(await fixture.find(other.secret), Date.now() + 60_000);
  const [own, link] = [fixture.sessionCookie(made.secret), fixture.shareCookie(info.shareId, secret)];
  const both = { ...own.headers, cookie: `${own.headers["cookie"]}; ${link.headers["cookie"]}` };
  const socket = fixture.openSocket("/v1/ws", { headers: both, query: "" });
  await socket.started;
  for (const session of ["b", SESSION]) socket.send({ type: "subscribe", id: session, session });
  await socket.waitFor((text) => text.includes("event_id"));
  await fixture.credentials.revokeShare(SESSION, info.shareId);
  const refusal = await socket.waitFor((text) => text.includes("refusal"));
  expect(JSON.parse(refusal)).toMatchObject({ session: SESSION, code: "unauthorized" });
  socket.send({ type: "subscribe", id: "again", session: SESSION });
  const again = await socket.waitFor((text) => text.includes('"again"'));
  expect(JSON.parse(again)).toMatchObject({ type: "refusal", code: "unknown_session" });
  socket.send({ type: "ping", id: "p" });
  await socket.waitFor((text) => text.includes('"pong"'));
});

testThreat("revoked-credentials", "closes connections of a token that another process revoked", async ({ attempt }) => {
  const folder = await mkdtemp(join(tmpdir(), "loom-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, "auth");
  const fixture = await createAuthServerFixture({ file });
  const { secret, info } = await fixture.issue();
  const auth = fixture.bearer(secret);
  const opened = Object.entries(IDLE_SOCKETS).map(([stream, open]) => ({ stream, open: open(fixture, auth) }));
  await Promise.all(opened.map(({ open }) => open.started));
  const elsewhere = openCredentials(file);
  onTestFinished(() => elsewhere.close());
  await elsewhere.revokeToken(info.tokenId);
  for (const { stream, open } of opened)
    await attempt(stream, async () => expect(await within(open.ended, MAX_CLOSE_MS)).toBe("1008 unauthorized"));
});

testSlowThreat("revoked-credentials", "aborts slow downloads of a revoked token", async ({ attempt }) => {
  const folder = await mkdtemp(join(tmpdir(), "loom-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const blobs = await openBlobStore(join(folder, "blobs"), SERVER_LIMITS);
  const fixture = await createAuthServerFixture({ server: { blobs } });
  const { secret, info } = await fixture.issue();
  const events = { type: "custom", content: "x".repeat(100_000) };
  const entries = Array.from({ length: 300 }, (_, at) => {
    const envelope = { session_id: "big", event_id: at + 1, ts: 1 };
    return createEntry({ envelope, event: events });
  });
  await fixture.log.createSession("big", { owner: OWNER, entries });
  const { blobId } = await blobs.put("big", [Buffer.alloc(30_000_000)], { mediaType: "text/plain" });
  const read = async (path: string): Promise<IncomingMessage> => {
    const asked = get(`${fixture.server.url}/v1/sessions/big${path}`, { headers: fixture.bearer(secret).headers });
    const [response] = (await once(asked, "response")) as [IncomingMessage];
    await once(response, "readable");
    return response;
  };
  const paths = ["/export", `/blobs/${blobId}`];
  const responses = await Promise.all(paths.map(read));
  await fixture.credentials.revokeToken(info.tokenId);
  await setTimeout(2500);
  for (const [at, path] of paths.entries())
    await attempt(path, () => expect(text(responses[at] as IncomingMessage)).rejects.toThrow("aborted"));
  expect(fixture.reported).toEqual([]);
});

testThreat("revoked-credentials", "does not execute requests whose body was still arriving", async ({ attempt }) => {
  const added: unknown[] = [];
  const addBytes = async (document: unknown): Promise<never> => {
    added.push(document);
    throw new Error("the document was added");
  };
  const blobs = createMemoryBlobStore(SERVER_LIMITS);
  const none = async (): Promise<never> => Promise.reject(new Error("not expected in this test"));
  const knowledge: ServedKnowledge = {
    addBytes,
    list: none,
    stats: none,
    search: none,
    read: none,
    removeDocument: none,
  };
  const fixture = await createAuthServerFixture({ server: { blobs, knowledge } });
  const { secret, info } = await fixture.issue({ scopes: ["read", "write", "run", "approve", "knowledge"] });
  const sends: readonly (readonly [path: string, type: string, first: string, rest: string])[] = [
    [`/v1/sessions/${SESSION}/runs`, "application/json", '{"message":', '"go"}'],
    ["/v1/sessions", "application/json", '{"session_id":', '"new"}'],
    [`/v1/sessions/${SESSION}/shares`, "application/json", "{", "}"],
    ["/v1/auth/tickets", "application/json", "{", "}"],
    [`/v1/sessions/${SESSION}/blobs`, "text/plain", "a", "b"],
    ["/v1/knowledge?name=x.md", "text/markdown", "# a", "b"],
  ];
  const revoked = Promise.withResolvers<void>();
  const find = vi.spyOn(fixture.credentials, "find");
  const asked = sends.map(async ([path, type, first, rest]) => {
    async function* body(): AsyncGenerator<Uint8Array> {
      yield Buffer.from(first);
      await revoked.promise;
      yield Buffer.from(rest);
    }
    const headers = { ...fixture.bearer(secret).headers, "content-type": type };
    const request = {
      method: "POST",
      headers,
      body: Readable.toWeb(Readable.from(body())) as ReadableStream,
      duplex: "half",
    } as const;
    return (await fetch(fixture.server.url + path, request)).status;
  });
  // A busy machine needs a while until the server has seen all requests. Only then does the time start after which it
  // checks the credential again.
  await expect.poll(() => find.mock.calls.length, { timeout: 20_000 }).toBeGreaterThanOrEqual(sends.length);
  await setTimeout(1500);
  await fixture.credentials.revokeToken(info.tokenId);
  revoked.resolve();
  for (const [at, [path]] of sends.entries()) await attempt(path, async () => expect(await asked[at]).toBe(401));
  await attempt("nothing was stored", async () => {
    const { incarnation = "" } = (await fixture.log.getSession(SESSION)) ?? {};
    const links = await fixture.credentials.listShares(SESSION, incarnation);
    const left = [await fixture.log.listPending(SESSION), await blobs.list(SESSION), added, links];
    expect([...left, await fixture.log.getSession("new")]).toEqual([[], [], [], [], undefined]);
  });
});
