/**
 * A person's browser with a Loom server that asks nobody, one that knows them by a cookie, and the site of somebody who
 * means harm, all on this machine: the last two under as many names as one likes. Whatever reaches the servers is kept.
 */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { IncomingMessage, ServerResponse } from "node:http";
import { type Browser, type BrowserContext, chromium, type Frame } from "playwright-core";
import { expect, vi } from "vitest";
import { agent } from "../../src/agents/index.ts";
import { MemoryLog } from "../../src/log/index.ts";
import { ScriptedModel, type ScriptedRequest } from "../../src/models/scripted-model.ts";
import type { JsonObject } from "../../src/protocol/index.ts";
import { openCredentials } from "../../src/server/auth/credentials/open-credentials.ts";
import { createMemoryBlobStore, createPage, SERVER_LIMITS, startLoomServer } from "../../src/server/index.ts";
import { createTools } from "../agents/counted-tools.ts";
import { findChromium } from "../browser/launch.ts";
import { buildPage } from "../page/build-page.ts";
import type { Prey } from "./browser-attacks.ts";
import { type EvilSite, openEvilSite } from "./evil-site.ts";

/** A request that was answered. */
export interface Seen {
  readonly line: string;
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
}

export interface Target {
  readonly name: string;
  readonly port: number;
  readonly prey: Prey;
  readonly seen: readonly Seen[];
  /** What tools were run with. */
  readonly ran: readonly unknown[];
  /** All that a request could have changed, as one text. */
  describe(): Promise<string>;
  ask(path: string, body?: object): Promise<JsonObject>;
}

export interface BrowserStage {
  readonly browser: Browser;
  /** Of the person who is signed in. */
  readonly context: BrowserContext;
  readonly evil: EvilSite;
  readonly open: Target;
  readonly guarded: Target;
  /** Asks nobody, and has been told to let the evil site in: what is tried works there. */
  readonly careless: Target;
  /** A page of the evil site, by the name it has this time, or the frame of it that has no origin. */
  visit(name: string, path?: string): Promise<Frame>;
  close(): Promise<void>;
}

/** Every name but our own leads here, too. */
const NAMES = "--host-resolver-rules=MAP *.example 127.0.0.1, MAP evil-localhost 127.0.0.1, MAP localhost 127.0.0.1";
export const SITES = [
  "evil.example",
  "localhost",
  "localhost.evil.example",
  "evil-localhost",
  "evil.localhost",
  "127.0.0.1",
];

const SESSION = "hers";

export async function setBrowserStage(): Promise<BrowserStage> {
  const [folder, executablePath, evil] = await Promise.all([buildPage(), findChromium(), openEvilSite()]);
  const origins = SITES.map((name) => `http://${name}:${evil.port}`);
  const [browser, open, guarded, careless] = await Promise.all([
    chromium.launch({ executablePath, chromiumSandbox: false, args: [NAMES] }),
    openTarget({ name: "open", folder }),
    openTarget({ name: "signed in", folder, isGuarded: true }),
    openTarget({ name: "careless", folder, origins }),
  ]);
  const context = await browser.newContext();
  const base = guarded.target.prey.base;
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
    careless: careless.target,
    async visit(name, path = "/") {
      const page = await context.newPage();
      await page.goto(`http://${name}:${evil.port}${path}`);
      return page.frames().at(-1) ?? page.mainFrame();
    },
    async close() {
      await browser.close();
      await Promise.all([open.close(), guarded.close(), careless.close(), evil.close()]);
    },
  };
}

/** Removes what shall be removed, once it is allowed to. */
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
  const { seen, stop } = watchAnswers(port);
  const token = credentials.createToken({ name: "ann", owner: "ann", scopes: ["admin"] }).secret;
  const eve = credentials.createToken({ name: "eve", owner: "eve" }).secret;

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
    prey: {
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
    async describe() {
      const sessions = await log.listSessions();
      const pending = await Promise.all(sessions.map(({ sessionId }) => log.listPending(sessionId, 100)));
      const shares = sessions.map(({ sessionId, incarnation }) => credentials.listShares(sessionId, incarnation));
      return JSON.stringify([sessions, pending, shares, ran]);
    },
    ask,
  };
  const close = async (): Promise<void> => {
    stop();
    await server.close({ graceMs: 0 });
    credentials.close();
  };
  return { target, token, close };
}

/** What is answered at a port, however it came. */
function watchAnswers(port: number): { readonly seen: readonly Seen[]; readonly stop: () => void } {
  const seen: Seen[] = [];
  const note = (message: unknown): void => {
    const { request, response } = message as { readonly request: IncomingMessage; readonly response: ServerResponse };
    if (request.socket.localPort !== port) return;
    const { method = "", url = "", headers } = request;
    seen.push({ line: `${method} ${url}`, status: response.statusCode, headers });
  };
  subscribe("http.server.response.finish", note);
  return { seen, stop: () => void unsubscribe("http.server.response.finish", note) };
}
