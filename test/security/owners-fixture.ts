// A server with authentication, tokens of several owners, and a session of Alice with all kinds of data. `close` closes
// everything.
import { expect, vi } from "vitest";
import { WebSocket } from "ws";
import { agent } from "../../src/agents/index.ts";
import { exportSession, MemoryLog } from "../../src/log/index.ts";
import { ScriptedModel, type ScriptedRequest } from "../../src/models/scripted-model.ts";
import type { JsonObject } from "../../src/protocol/index.ts";
import type { NewToken } from "../../src/server/auth/credentials/credentials.ts";
import { openCredentials } from "../../src/server/auth/credentials/open-credentials.ts";
import type { Scope } from "../../src/server/auth/scopes.ts";
import { createMemoryBlobStore } from "../../src/server/blobs/create-memory-blob-store.ts";
import { type LoomServerOptions, startLoomServer } from "../../src/server/loom-server.ts";
import { SERVER_LIMITS } from "../../src/server/guard/server-limits.ts";
import { createTools } from "../agents/counted-tools.ts";

/** Scopes for working with sessions. */
export const SESSION_SCOPES: readonly Scope[] = ["read", "write", "run", "approve", "ingest"];

/** Appears in all of Alice's data and nowhere else. */
export const SECRET = "xylophone";

/** Both IDs have the same length, so that responses can be compared. */
export const ALICE_SESSION = "alice-session";
export const MISSING_SESSION = "empty-session";

export interface RequestOptions {
  readonly method?: string;
  readonly headers?: { readonly [name: string]: string };
  readonly body?: unknown;
  /** A body that is sent unchanged. */
  readonly raw?: string;
}

export interface ReceivedResponse {
  readonly status: number;
  readonly headers: { readonly [name: string]: string };
  readonly text: string;
}

/** Calls the tool `remove` for a message that contains "Clean"; answers all other messages with the secret. */
function respond({ prompt }: ScriptedRequest) {
  const last = prompt.at(-1);
  const text = JSON.stringify(last?.content ?? "");
  if (last?.role === "user" && text.includes("Clean"))
    return { calls: [{ name: "remove", input: { path: `${SECRET}.log` }, id: "call_rm" }] };
  return { text: `I say: ${SECRET}` };
}

export async function createOwnersFixture(options: Partial<LoomServerOptions> = {}) {
  const { log = new MemoryLog() } = options;
  const credentials = openCredentials(":memory:");
  const { tools, ran } = createTools();
  const agents = { main: agent({ model: new ScriptedModel(respond), tools }) };
  const auth = { credentials, limits: { requestsPerMinute: 100_000, runsPerMinute: 10_000, maxRuns: 1000 } };
  const blobs = createMemoryBlobStore(SERVER_LIMITS);
  const reported: unknown[] = [];
  const onError = (error: unknown): void => void reported.push(error);
  const server = await startLoomServer({ agents, blobs, auth, port: 0, onError, ...options, log });
  const origin = `http://127.0.0.1:${server.port}`;
  const sockets = new Set<WebSocket>();

  const createToken = async (token: NewToken): Promise<string> => (await credentials.createToken(token)).secret;
  const alice = await createToken({ name: "alice", owner: "alice", scopes: SESSION_SCOPES });
  const bob = await createToken({ name: "bob", owner: "bob", scopes: SESSION_SCOPES });
  const admin = await createToken({ name: "admin", owner: "admin", scopes: ["admin"] });

  async function ask(token: string | undefined, path: string, asked: RequestOptions = {}): Promise<ReceivedResponse> {
    const { method = "GET", body, raw } = asked;
    const sent = raw ?? (body === undefined ? undefined : JSON.stringify(body));
    const response = await fetch(`${origin}${path}`, {
      method,
      headers: {
        "x-request-id": "the-same",
        accept: "application/problem+json, */*",
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...asked.headers,
      },
      ...(sent === undefined ? {} : { body: sent }),
      signal: AbortSignal.timeout(5000),
    });
    const { date: _date, ...headers } = Object.fromEntries(response.headers);
    return { status: response.status, headers, text: await response.text() };
  }

  async function askJson(token: string, path: string, asked: RequestOptions = {}): Promise<JsonObject> {
    const { status, text } = await ask(token, path, asked);
    expect([status < 400, status < 400 ? "" : text]).toEqual([true, ""]);
    return JSON.parse(text) as JsonObject;
  }

  /** Opens a socket, sends these frames, and returns all messages received until no more arrive. */
  async function sendFrames(path: string, frames: readonly unknown[], headers: { readonly [name: string]: string }) {
    const ws = new WebSocket(`ws://127.0.0.1:${server.port}${path}`, { headers });
    sockets.add(ws);
    const texts: string[] = [];
    ws.on("message", (data: Buffer) => texts.push(data.toString()));
    const status = await new Promise<number>((resolve) => {
      ws.once("open", () => resolve(101));
      ws.once("unexpected-response", (_request, response) => resolve(response.statusCode ?? 0));
      ws.once("error", () => resolve(0));
      ws.once("close", () => resolve(0));
    });
    for (const frame of frames) ws.send(JSON.stringify(frame));
    if (status === 101) await settle(texts, frames.length + 1);
    ws.terminate();
    return { status, texts };
  }

  const dumpSession = async (session: string): Promise<string> => {
    const info = await log.getSession(session);
    if (info === undefined) return "none";
    let text = JSON.stringify([info, await log.listPending(session), await blobs.list(session)]);
    if (info.lastId >= info.firstId) for await (const page of exportSession(log, session)) text += page;
    return text;
  };

  return {
    server,
    origin,
    log,
    credentials,
    blobs,
    ran,
    reported,
    tokens: { alice, bob, admin },
    createToken,
    ask,
    askJson,
    sendFrames,
    /** Serializes everything stored for a session. */
    dumpSession,
    async close() {
      for (const ws of sockets) ws.terminate();
      await server.close({ graceMs: 0 });
      await credentials.close();
    },
  };
}

export type OwnersFixture = Awaited<ReturnType<typeof createOwnersFixture>>;

/** Waits for at least this many messages, and then until no more arrive. */
async function settle(texts: readonly string[], least: number): Promise<void> {
  const until = Date.now() + 2000;
  let seen = -1;
  while (Date.now() < until && (texts.length < least || texts.length !== seen)) {
    seen = texts.length;
    await new Promise((resolve) => setTimeout(resolve, 40));
  }
}

/** Ids and secrets in Alice's session that another user may have guessed or learned. */
export interface SessionIds {
  readonly run: string;
  readonly cursor: string;
  readonly blob: string;
  readonly checkpoint: string;
  readonly share: string;
  readonly link: string;
}

/** Fills a session of Alice: a completed run, a run that waits for an approval, a blob and a share link. */
export async function fillSession(
  { askJson, tokens: { alice } }: OwnersFixture,
  session = ALICE_SESSION,
): Promise<SessionIds> {
  const path = `/v1/sessions/${session}`;
  const post = (where: string, body: unknown) => askJson(alice, `${path}${where}`, { method: "POST", body });
  const runs = async () => (await askJson(alice, `${path}/runs`))["runs"] as readonly JsonObject[];
  await post("/runs", { message: `Describe the ${SECRET}`, run_id: "first" });
  await vi.waitFor(async () => expect((await runs())[0]?.["status"]).toBe("completed"));
  const { cursor } = await askJson(alice, path);
  await post("/runs", { message: `Clean up the ${SECRET}`, run_id: "second" });
  const waiting = async () => (await askJson(alice, `${path}/approvals`))["approvals"];
  await vi.waitFor(async () => expect(await waiting()).toHaveLength(1));
  const raw = `a ${SECRET}`;
  const headers = { "content-type": "text/plain" };
  const { blob_id: blob } = await askJson(alice, `${path}/blobs`, { method: "POST", raw, headers });
  const { checkpoints } = await askJson(alice, `${path}/checkpoints`);
  const [checkpoint] = (checkpoints as readonly JsonObject[]).filter(({ run_id }) => run_id === "first");
  const { share_id: share, secret: link } = await post("/shares", {});
  return {
    run: "second",
    cursor: cursor as string,
    blob: blob as string,
    checkpoint: checkpoint?.["checkpoint_id"] as string,
    share: share as string,
    link: link as string,
  };
}
