/**
 * A browser, three Loom servers and an attacker's site, all on this machine. The `open` server has no authentication,
 * `guarded` knows the user by a cookie, and `permissive` has no authentication and allows the attacker's origins. Each
 * target records the requests it received.
 */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Browser, BrowserContext, Frame } from "playwright-core";
import { expect, vi } from "vitest";
import { agent } from "../../src/agents/index.ts";
import { MemoryLog } from "../../src/log/index.ts";
import { ScriptedModel, type ScriptedRequest } from "../../src/models/scripted-model.ts";
import type { JsonObject } from "../../src/protocol/index.ts";
import { openCredentials } from "../../src/server/auth/credentials/open-credentials.ts";
import { createMemoryBlobStore, createPage, SERVER_LIMITS, startLoomServer } from "../../src/server/index.ts";
import { createTools } from "../agents/counted-tools.ts";
import { launchChromium } from "../browser/launch.ts";
import { buildPage } from "../page/build-page.ts";
import type { AttackInput } from "./browser-attacks.ts";
import { type EvilSite, openEvilSite } from "./evil-site.ts";

/** A request that the server answered. */
export interface SeenRequest {
  readonly line: string;
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
}

export interface Target {
  readonly name: string;
  readonly port: number;
  readonly attackInput: AttackInput;
  readonly seen: readonly SeenRequest[];
  /** Tool calls that ran. */
  readonly ran: readonly unknown[];
  /** Serializes everything that a request could have changed. */
  dumpState(): Promise<string>;
  ask(path: string, body?: object): Promise<JsonObject>;
}

export interface BrowserFixture {
  readonly browser: Browser;
  /** Browser context of the signed-in user. */
  readonly context: BrowserContext;
  readonly evil: EvilSite;
  readonly open: Target;
  readonly guarded: Target;
  /** Has no authentication and allows the attacker's origins. Proves that the attacks work when nothing blocks them. */
  readonly permissive: Target;
  /** Opens a page of the attacker's site under this host name and returns its innermost frame. */
  visit(name: string, path?: string): Promise<Frame>;
  close(): Promise<void>;
}

/** Chromium flag that resolves the attacker's host names to this machine. */
const RESOLVER_RULES =
  "--host-resolver-rules=MAP *.example 127.0.0.1, MAP evil-localhost 127.0.0.1, MAP localhost 127.0.0.1";
export const EVIL_HOSTS = [
  "evil.example",
  "localhost",
  "localhost.evil.example",
  "evil-localhost",
  "evil.localhost",
  "127.0.0.1",
];

const SESSION = "ann-session";

export async function createBrowserFixture(): Promise<BrowserFixture> {
  const [folder, evil] = await Promise.all([buildPage(), openEvilSite()]);
  const origins = EVIL_HOSTS.map((name) => `http://${name}:${evil.port}`);
  const [browser, open, guarded, permissive] = await Promise.all([
    launchChromium([RESOLVER_RULES]),
    openTarget({ name: "open", folder }),
    openTarget({ name: "signed in", folder, isGuarded: true }),
    openTarget({ name: "permissive", folder, origins }),
  ]);
  const context = await browser.newContext();
  const base = guarded.target.attackInput.base;
  const signedIn = await context.request.post(`${base}/v1/auth/sign-in`, {
    headers: { origin: base },
    data: { credential: guarded.token },
  });
  expect(signedIn.status()).toBe(200);
  return {
    browser,
    context,
    evil,
    open: open.target,
    guarded: guarded.target,
    permissive: permissive.target,
    async visit(name, path = "/") {
      const page = await context.newPage();
      await page.goto(`http://${name}:${evil.port}${path}`);
      return page.frames().at(-1) ?? page.mainFrame();
    },
    async close() {
      await browser.close();
      await Promise.all([open.close(), guarded.close(), permissive.close(), evil.close()]);
    },
  };
}

/** Calls the `remove` tool, which needs approval, and then answers. */
function play({ prompt }: ScriptedRequest) {
  const last = prompt.at(-1);
  if (last?.role === "user") return { calls: [{ name: "remove", input: { path: "everything" }, id: "call" }] };
  return { text: "Done." };
}

interface TargetOptions {
  readonly name: string;
  readonly folder: string;
  readonly isGuarded?: boolean;
  readonly origins?: readonly string[];
}

async function openTarget({ name, folder, isGuarded = false, origins = [] }: TargetOptions) {
  const log = new MemoryLog();
  const { tools, ran } = createTools();
  const credentials = openCredentials(":memory:");
  const limits = { requestsPerMinute: 100_000, runsPerMinute: 1000 };
  const server = await startLoomServer({
    log,
    agents: { main: agent({ model: new ScriptedModel(play), tools }) },
    blobs: createMemoryBlobStore(SERVER_LIMITS),
    page: createPage({ folder }),
    port: 0,
    origins,
    ...(isGuarded ? { auth: { credentials, limits, maxFailures: 100_000 } } : {}),
  });
  const { port } = server;
  const base = `http://localhost:${port}`;
  const { seen, stop } = watchResponses(port);
  const token = (await credentials.createToken({ name: "ann", owner: "ann", scopes: ["admin"] })).secret;
  const eve = (await credentials.createToken({ name: "eve", owner: "eve" })).secret;

  const ask: Target["ask"] = async (path, body) => {
    const headers = { ...(isGuarded && { authorization: `Bearer ${token}` }), "content-type": "application/json" };
    const sent = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers, ...sent });
    expect([path, response.status < 300]).toEqual([path, true]);
    return (await response.json()) as JsonObject;
  };
  const at = `/v1/sessions/${SESSION}`;
  await ask(`${at}/runs`, { message: "Clean up", run_id: "run" });
  await vi.waitFor(async () => expect((await ask(`${at}/approvals`))["approvals"]).toHaveLength(1));
  const { blob_id: blob } = await ask(`${at}/blobs`, { text: "private" });
  const target: Target = {
    name,
    port,
    attackInput: {
      base,
      session: SESSION,
      run: "run",
      call: "call",
      blob: blob as string,
      credential: eve,
      cookies: isGuarded,
    },
    seen,
    ran,
    async dumpState() {
      const sessions = await log.listSessions();
      const pending = await Promise.all(sessions.map(({ sessionId }) => log.listPending(sessionId, 100)));
      const shares = await Promise.all(
        sessions.map(async ({ sessionId, incarnation }) => credentials.listShares(sessionId, incarnation)),
      );
      return JSON.stringify([sessions, pending, shares, ran]);
    },
    ask,
  };
  const close = async (): Promise<void> => {
    stop();
    await server.close({ graceMs: 0 });
    await credentials.close();
  };
  return { target, token, close };
}

/** Records every response sent on this port. */
function watchResponses(port: number): { readonly seen: readonly SeenRequest[]; readonly stop: () => void } {
  const seen: SeenRequest[] = [];
  const note = (message: unknown): void => {
    const { request, response } = message as { readonly request: IncomingMessage; readonly response: ServerResponse };
    if (request.socket.localPort !== port) return;
    const { method = "", url = "", headers } = request;
    seen.push({ line: `${method} ${url}`, status: response.statusCode, headers });
  };
  subscribe("http.server.response.finish", note);
  return { seen, stop: () => void unsubscribe("http.server.response.finish", note) };
}
