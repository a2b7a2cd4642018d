// Leave that ends: whatever somebody has open by any credential at any door is cut off within seconds, and is not let in
// again by what was revoked. Streams of HTTP break, so that nobody takes them for whole; sockets say why.
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { get, type IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { setTimeout } from "node:timers/promises";
import { expect, onTestFinished } from "vitest";
import type { Script } from "../../src/models/scripted-model.ts";
import type { ServedKnowledge } from "../../src/server/served-knowledge.ts";
import { createEntry } from "../../src/log/index.ts";
import { openBlobStore } from "../../src/server/blobs/open-blob-store.ts";
import { createMemoryBlobStore } from "../../src/server/blobs/create-memory-blob-store.ts";
import { SERVER_LIMITS } from "../../src/server/server-limits.ts";
import { openCredentials } from "../../src/server/auth/credentials/open-credentials.ts";
import { type GuardedStage, type Open, OWNER, type Pass, SESSION, setGuardedStage } from "./guarded-stage.ts";
import { itHolds } from "./it-holds.ts";

/** As the threat model has it. It is half of that where nobody else wants the machine. */
const MUST_MS = 5000;

type Door = (stage: GuardedStage, pass: () => Pass) => Open;

const EVENTS = `/v1/sessions/${SESSION}/events?follow=true`;
const DOORS: { readonly [name: string]: Door } = {
  "server-sent events": (stage, pass) => stage.openHttp(EVENTS, "text/event-stream", pass()),
  NDJSON: (stage, pass) => stage.openHttp(EVENTS, "application/x-ndjson", pass()),
  "the stream of a run": (stage, pass) => stage.openHttp(`${EVENTS}&run=r`, "text/event-stream", pass()),
  "/v1/ws": (stage, pass) => {
    const socket = stage.openSocket("/v1/ws", pass());
    const subscribe = (): void => socket.say({ type: "subscribe", id: "1", session: SESSION });
    socket.live.then(subscribe, () => undefined);
    return { ...socket, live: untilSaid(socket, "event_id") };
  },
  "/agentOS/v1/ws_stream": (stage, pass) => {
    const socket = stage.openSocket(`/agentOS/v1/ws_stream?session_id=${SESSION}&follow=1&after=0`, pass());
    return { ...socket, live: untilSaid(socket, "Hey") };
  },
};
/** Nobody waits for it who expects to be refused. */
function untilSaid(socket: Open, what: string): Promise<string> {
  const said = socket.until((text) => text.includes(what));
  said.catch(() => undefined);
  return said;
}

/** Those where nothing of a session is read. */
const IDLE_DOORS: { readonly [name: string]: Door } = {
  "/v1/ws without a stream": (stage, pass) => stage.openSocket("/v1/ws", pass()),
  "/agentOS/v1/ws_stream without a session": (stage, pass) => stage.openSocket("/agentOS/v1/ws_stream", pass()),
};

/** How somebody came in, how that ends, and what they are told who come with it again. */
interface Way {
  /** A ticket is good once. */
  readonly pass: () => Pass;
  readonly end: () => unknown;
  readonly again?: Pass;
}

const WAYS: { readonly [name: string]: (stage: GuardedStage) => Way | Promise<Way> } = {
  "a token": (stage) => {
    const { secret, info } = stage.issue();
    const pass = stage.bearer(secret);
    return { pass: () => pass, end: () => stage.credentials.revokeToken(info.tokenId), again: pass };
  },
  "a token that runs out": (stage) => {
    const { secret } = stage.issue({ expiresAt: Date.now() + 1500 });
    const pass = stage.bearer(secret);
    return { pass: () => pass, end: () => setTimeout(1500), again: pass };
  },
  "tickets of a token": (stage) => {
    const { secret, info } = stage.issue();
    const principal = stage.find(secret);
    return { pass: () => stage.ticket(principal), end: () => stage.credentials.revokeToken(info.tokenId) };
  },
  "a cookie whose token is revoked": (stage) => {
    const { secret, info } = stage.issue();
    const made = stage.credentials.createCookie(stage.find(secret), Date.now() + 60_000);
    const pass = stage.sessionCookie(made.secret);
    return { pass: () => pass, end: () => stage.credentials.revokeToken(info.tokenId), again: pass };
  },
  "a cookie that is signed out": (stage) => {
    const { secret } = stage.issue();
    const made = stage.credentials.createCookie(stage.find(secret), Date.now() + 60_000);
    const pass = stage.sessionCookie(made.secret);
    return { pass: () => pass, end: () => stage.credentials.deleteCookie(made.secret), again: pass };
  },
  "tickets of a cookie that is signed out": (stage) => {
    const { secret } = stage.issue();
    const made = stage.credentials.createCookie(stage.find(secret), Date.now() + 60_000);
    const principal = stage.find(made.secret);
    return { pass: () => stage.ticket(principal), end: () => stage.credentials.deleteCookie(made.secret) };
  },
  "a link": async (stage) => {
    const { secret, info } = await stage.share();
    const pass = stage.bearer(secret);
    return { pass: () => pass, end: () => stage.credentials.revokeShare(SESSION, info.shareId), again: pass };
  },
  "a link whose maker's token is revoked": async (stage) => {
    const maker = stage.issue().info.tokenId;
    const { secret } = await stage.share(`token:${maker}`);
    const pass = stage.bearer(secret);
    return { pass: () => pass, end: () => stage.credentials.revokeToken(maker), again: pass };
  },
  "the cookie of a link": async (stage) => {
    const { secret, info } = await stage.share();
    const pass = stage.shareCookie(info.shareId, secret);
    return { pass: () => pass, end: () => stage.credentials.revokeShare(SESSION, info.shareId), again: pass };
  },
  "tickets of a link": async (stage) => {
    const { secret, info } = await stage.share();
    const principal = stage.find(secret);
    return {
      pass: () => stage.ticket(principal),
      end: () => stage.credentials.revokeShare(SESSION, info.shareId),
    };
  },
};

/** With a run that has said something and goes on. */
async function setStage(): Promise<GuardedStage> {
  const stage = await setGuardedStage({ script: [{ text: "Hey, you there.", fault: { kind: "stall", after: 3 } }] });
  const { secret } = stage.issue();
  const path = `/v1/sessions/${SESSION}/runs`;
  const started = await stage.ask("POST", path, stage.bearer(secret), { message: "go", run_id: "r" });
  expect(started.status).toBeLessThan(300);
  return stage;
}

const within = (ended: Promise<string>, ms: number): Promise<string> =>
  Promise.race([ended, setTimeout(ms, "still open", { ref: false })]);

itHolds(
  "revoked-credentials",
  "whatever a credential has open ends when it does",
  async ({ attempt }) => {
    const stage = await setStage();
    const keeper = stage.bearer(stage.issue().secret);
    const kept = Object.values(DOORS).map((door) => door(stage, () => keeper));
    await Promise.all(kept.map(({ live }) => live));
    const tries: Promise<void>[] = [];
    for (const [name, make] of Object.entries(WAYS)) {
      const way = await make(stage);
      const doors = Object.entries({ ...DOORS, ...IDLE_DOORS });
      const opened = doors.map(([door, open]) => ({ door, open: open(stage, way.pass) }));
      await Promise.all(opened.map(({ open }) => open.live));
      const begun = Promise.resolve(way.end());
      for (const { door, open } of opened)
        tries.push(
          attempt(`${name} at ${door}`, async () => {
            await begun;
            const expected = door.startsWith("/") ? "1008 unauthorized" : "broken";
            expect(await within(open.ended, MUST_MS)).toBe(expected);
          }),
        );
      const { again } = way;
      if (again === undefined) continue;
      for (const [door, open] of doors)
        tries.push(
          attempt(`${name} again at ${door}`, async () => {
            await begun;
            expect(await open(stage, () => again).ended).toBe("401");
          }),
        );
    }
    await Promise.all(tries);
    // Nobody else was disturbed, and nobody was told of a fault.
    expect(await Promise.all(kept.map(({ ended }) => within(ended, 10)))).toEqual(kept.map(() => "still open"));
    expect(stage.reported).toEqual([]);
  },
  { timeout: 30_000 },
);

itHolds("revoked-credentials", "what waits for its turn is not begun", async ({ attempt }) => {
  const asked: string[] = [];
  const script: Script = ({ prompt }) => {
    asked.push(JSON.stringify(prompt.at(-1)?.content));
    return asked.length === 1 ? { text: "Hey, you there.", fault: { kind: "stall", after: 3 } } : { text: "Yes." };
  };
  const stage = await setGuardedStage({ script });
  const [own, other] = [stage.issue(), stage.issue()];
  const path = `/v1/sessions/${SESSION}/runs`;
  const send = async (secret: string, run_id: string): Promise<void> => {
    const { status } = await stage.ask("POST", path, stage.bearer(secret), { message: `of ${run_id}`, run_id });
    expect(status).toBeLessThan(300);
  };
  const statusOf = async (run: string): Promise<string | undefined> =>
    (await stage.log.listRuns(SESSION)).find(({ runId }) => runId === run)?.status;
  for (const run of ["a", "b"]) await send(own.secret, run);
  await send(other.secret, "c");
  stage.credentials.revokeToken(own.info.tokenId);
  await stage.ask("POST", `${path}/a/cancel`, stage.bearer(other.secret), {});
  await attempt("a message of a token that was revoked", async () => {
    await expect.poll(() => statusOf("b")).toBe("error");
    const events = await stage.ask("GET", `/v1/sessions/${SESSION}/events?run=b`, stage.bearer(other.secret));
    expect(await events.text()).toContain('"code":"unauthorized"');
  });
  // Whoever was not revoked comes to their turn.
  await expect.poll(() => statusOf("c")).toBe("completed");
  expect(asked).toEqual([expect.stringContaining("of a"), expect.stringContaining("of c")]);
});

itHolds("revoked-credentials", "a socket goes on without the one session whose link was taken back", async () => {
  const stage = await setStage();
  const { secret, info } = await stage.share();
  const other = stage.issue({ owner: "bob" });
  await stage.log.createSession("b", { owner: "bob" });
  const made = stage.credentials.createCookie(stage.find(other.secret), Date.now() + 60_000);
  const [own, link] = [stage.sessionCookie(made.secret), stage.shareCookie(info.shareId, secret)];
  const both = { ...own.headers, cookie: `${own.headers["cookie"]}; ${link.headers["cookie"]}` };
  const socket = stage.openSocket("/v1/ws", { headers: both, query: "" });
  await socket.live;
  for (const session of ["b", SESSION]) socket.say({ type: "subscribe", id: session, session });
  await socket.until((text) => text.includes("event_id"));
  stage.credentials.revokeShare(SESSION, info.shareId);
  const refusal = await socket.until((text) => text.includes("refusal"));
  expect(JSON.parse(refusal)).toMatchObject({ session: SESSION, code: "unauthorized" });
  socket.say({ type: "subscribe", id: "again", session: SESSION });
  const again = await socket.until((text) => text.includes('"again"'));
  expect(JSON.parse(again)).toMatchObject({ type: "refusal", code: "unknown_session" });
  socket.say({ type: "ping", id: "p" });
  await socket.until((text) => text.includes('"pong"'));
});

itHolds("revoked-credentials", "what another process revokes ends here", async ({ attempt }) => {
  const folder = await mkdtemp(join(tmpdir(), "loom-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, "auth");
  const stage = await setGuardedStage({ file });
  const { secret, info } = stage.issue();
  const pass = stage.bearer(secret);
  const opened = Object.entries(IDLE_DOORS).map(([door, open]) => ({ door, open: open(stage, () => pass) }));
  await Promise.all(opened.map(({ open }) => open.live));
  const elsewhere = openCredentials(file);
  onTestFinished(() => elsewhere.close());
  elsewhere.revokeToken(info.tokenId);
  for (const { door, open } of opened)
    await attempt(door, async () => expect(await within(open.ended, MUST_MS)).toBe("1008 unauthorized"));
});

itHolds("revoked-credentials", "what is read slowly breaks off", async ({ attempt }) => {
  const folder = await mkdtemp(join(tmpdir(), "loom-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const blobs = await openBlobStore(join(folder, "blobs"), SERVER_LIMITS);
  const stage = await setGuardedStage({ server: { blobs } });
  const { secret, info } = stage.issue();
  const events = { type: "custom", content: "x".repeat(100_000) };
  const entries = Array.from({ length: 300 }, (_, at) => {
    const envelope = { session_id: "big", event_id: at + 1, ts: 1 };
    return createEntry({ envelope, event: events });
  });
  await stage.log.createSession("big", { owner: OWNER, entries });
  const { blobId } = await blobs.put("big", [Buffer.alloc(30_000_000)], { mediaType: "text/plain" });
  const read = async (path: string): Promise<IncomingMessage> => {
    const asked = get(`${stage.server.url}/v1/sessions/big${path}`, { headers: stage.bearer(secret).headers });
    const [response] = (await once(asked, "response")) as [IncomingMessage];
    await once(response, "readable");
    return response;
  };
  const paths = ["/export", `/blobs/${blobId}`];
  const responses = await Promise.all(paths.map(read));
  stage.credentials.revokeToken(info.tokenId);
  await setTimeout(2500);
  for (const [at, path] of paths.entries())
    await attempt(path, () => expect(text(responses[at] as IncomingMessage)).rejects.toThrow("aborted"));
  expect(stage.reported).toEqual([]);
});

itHolds("revoked-credentials", "what was still being sent is not done", async ({ attempt }) => {
  const added: unknown[] = [];
  const addBytes = async (document: unknown): Promise<never> => {
    added.push(document);
    throw new Error("it was taken");
  };
  const blobs = createMemoryBlobStore(SERVER_LIMITS);
  const none = async (): Promise<never> => Promise.reject(new Error("nobody asks for this"));
  const knowledge: ServedKnowledge = { addBytes, list: none, stats: none, search: none, removeDocument: none };
  const stage = await setGuardedStage({ server: { blobs, knowledge } });
  const { secret, info } = stage.issue();
  const sends: readonly (readonly [path: string, type: string, first: string, rest: string])[] = [
    [`/v1/sessions/${SESSION}/runs`, "application/json", '{"message":', '"go"}'],
    ["/v1/sessions", "application/json", '{"session_id":', '"new"}'],
    [`/v1/sessions/${SESSION}/shares`, "application/json", "{", "}"],
    ["/v1/auth/tickets", "application/json", "{", "}"],
    [`/v1/sessions/${SESSION}/blobs`, "text/plain", "a", "b"],
    ["/v1/knowledge?name=x.md", "text/markdown", "# a", "b"],
  ];
  const revoked = Promise.withResolvers<void>();
  const asked = sends.map(async ([path, type, first, rest]) => {
    async function* body(): AsyncGenerator<Uint8Array> {
      yield Buffer.from(first);
      await revoked.promise;
      yield Buffer.from(rest);
    }
    const headers = { ...stage.bearer(secret).headers, "content-type": type };
    const request = {
      method: "POST",
      headers,
      body: Readable.toWeb(Readable.from(body())) as ReadableStream,
      duplex: "half",
    } as const;
    return (await fetch(stage.server.url + path, request)).status;
  });
  await setTimeout(1200);
  stage.credentials.revokeToken(info.tokenId);
  revoked.resolve();
  for (const [at, [path]] of sends.entries()) await attempt(path, async () => expect(await asked[at]).toBe(401));
  await attempt("something is left of it", async () => {
    const { incarnation = "" } = (await stage.log.getSession(SESSION)) ?? {};
    const links = stage.credentials.listShares(SESSION, incarnation);
    const left = [await stage.log.listPending(SESSION), await blobs.list(SESSION), added, links];
    expect([...left, await stage.log.getSession("new")]).toEqual([[], [], [], [], undefined]);
  });
});
