// A test fixture for the sockets of a server: a log, a scripted run dispatcher, an HTTP server, and `ws` clients.
// Everything is closed when the test ends.
import { createServer, type IncomingMessage } from "node:http";
import { createGates } from "../../src/server/api/gates.ts";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { expect, onTestFinished, vi } from "vitest";
import { type ClientOptions, WebSocket } from "ws";
import { createStreamCheck, DIALECTS } from "../../src/dialects/index.ts";
import { openSession, type Run } from "../../src/engine/index.ts";
import { type Log, MemoryLog, openStream } from "../../src/log/index.ts";
import type { JsonObject } from "../../src/protocol/index.ts";
import { LoomError } from "../../src/protocol/index.ts";
import { createCommandHost } from "../../src/server/commands/command-host.ts";
import { LOCAL } from "../../src/server/auth/principal.ts";
import { NO_AUDIT } from "../../src/server/auth/audit/auditor.ts";
import { OPEN_ACCESS } from "../../src/server/auth/open-access.ts";
import { allowAll, type Authorize } from "../../src/server/auth/authorize.ts";
import type { RunDispatcher } from "../../src/server/runs/run-dispatcher.ts";
import type { ServerCore } from "../../src/server/api/server-core.ts";
import { SERVER_LIMITS, type ServerLimits } from "../../src/server/guard/server-limits.ts";
import { openResponseStream } from "../../src/server/clients/openai/start-response.ts";
import { createSockets } from "../../src/server/sockets/create-sockets.ts";
import { createStreams } from "../../src/server/streams/create-streams.ts";
import { gather } from "../log-sessions.ts";

/** Answers a message. Default: repeats it word by word. */
export type Play = (run: Run, message: string) => Promise<void>;

export interface SocketFixtureOptions {
  readonly play?: Play;
  readonly log?: Log;
  readonly limits?: Partial<ServerLimits>;
  readonly authorize?: Authorize;
  readonly basePath?: string;
}

export const echoMessage: Play = async (run, message) => {
  await run.span("think", async (node) => {
    for (const word of message.match(/\S+\s*/g) ?? []) await node.write(word);
  });
  await run.finish({ reply: message });
};

export async function createSocketFixture(options: SocketFixtureOptions = {}) {
  const { play = echoMessage, log = new MemoryLog(), authorize = allowAll, basePath = "" } = options;
  const limits = { ...SERVER_LIMITS, ...options.limits };
  const reported: unknown[] = [];
  const report = (error: unknown): string => `error-${reported.push(error)}`;
  const streams = createStreams({ log, limits, onError: report });
  const runs = createDispatcher(log, play);
  const closing = new AbortController();
  const core: ServerCore = {
    log,
    limits,
    streams,
    runs,
    blobs: undefined,
    knowledge: undefined,
    commands: createCommandHost({ log, runs, limits, blobs: undefined, report }),
    access: OPEN_ACCESS,
    auditor: NO_AUDIT,
    authorize,
    meter: undefined,
    gates: createGates(limits),
    register: undefined,
    basePath,
    version: "0.0.0-test",
    closing: closing.signal,
    report,
  };
  const sockets = createSockets(core, openResponseStream);
  const raw: Socket[] = [];
  const http = createServer((_request, response) => response.writeHead(426).end());
  http.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    raw.push(socket as Socket);
    const url = new URL(request.url ?? "/", "http://127.0.0.1");
    const caller = {
      method: "UPGRADE",
      headers: new Headers(),
      url,
      address: "127.0.0.1",
      origin: url.origin,
      principal: LOCAL,
      shares: [],
    };
    if (!sockets.upgrade(request, socket, head, caller)) socket.end("HTTP/1.1 404 Not Found\r\n\r\n");
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const { port } = http.address() as AddressInfo;
  const clients = new Set<WebSocket>();
  onTestFinished(async () => {
    for (const client of clients) client.terminate();
    await sockets.close();
    await streams.close();
    await runs.close({ graceMs: 0 });
    http.closeAllConnections();
    await new Promise((resolve) => http.close(resolve));
  });
  return {
    core,
    log,
    sockets,
    port,
    reported,
    /** The server ends of the sockets. */
    raw,
    connect(path: string, given: ClientOptions = {}) {
      const client = createClient(new WebSocket(`ws://127.0.0.1:${port}${basePath}${path}`, given));
      clients.add(client.ws);
      return client;
    },
    /** Returns all frames of a session in the Lumine dialect, as stored in the log. */
    list: async (session: string, follow = false) =>
      (await gather(openStream(log, session, { dialect: "lumine", ...(follow ? { encoderOptions: { follow } } : {}) })))
        .flat()
        .map(({ text }) => text),
  };
}

function createClient(ws: WebSocket) {
  const texts: string[] = [];
  let closed: { readonly code: number; readonly reason: string } | undefined;
  let failure: Error | undefined;
  ws.on("message", (data: Buffer) => texts.push(data.toString()));
  ws.on("close", (code, reason) => (closed = { code, reason: reason.toString() }));
  ws.on("error", (error) => (failure = error));
  const frames = (): JsonObject[] => texts.map((text) => JSON.parse(text) as JsonObject);
  const wait = <T>(find: () => T | undefined): Promise<T> =>
    vi.waitFor(
      () => {
        const found = find();
        expect(found, `${failure?.message ?? ""} ${texts.map((text) => text.slice(0, 160)).join("\n")}`).toBeDefined();
        return found as T;
      },
      { interval: 2, timeout: 3000 },
    );
  return {
    ws,
    texts,
    frames,
    /** The session ID in the first frame. */
    session: () => frames()[0]?.["session_id"] as string,
    send: (frame: unknown): void => ws.send(typeof frame === "string" ? frame : JSON.stringify(frame)),
    opened: () =>
      new Promise<void>((resolve, reject) => {
        if (ws.readyState === ws.OPEN) resolve();
        ws.once("open", resolve);
        ws.once("error", reject);
      }),
    count: (count: number) => wait(() => (texts.length >= count ? true : undefined)),
    until: (isMeant: (frame: JsonObject) => boolean) => wait(() => frames().find(isMeant)),
    /** Resolves when `count` requests have ended. */
    done: (count = 1) => wait(() => (frames().filter(isDoneFrame).length >= count ? true : undefined)),
    closed: () => wait(() => closed),
    refused: () => wait(() => failure),
  };
}

export function isDoneFrame({ type, content }: JsonObject): boolean {
  return type === "chunk" && content === "[DONE]";
}

/** Returns the error-level issues of a Lumine stream. */
export function checkLumine(texts: readonly string[]): readonly unknown[] {
  const check = createStreamCheck(DIALECTS.lumine);
  return [...texts.flatMap((text) => check.check(text).issues), ...check.end()].filter(
    ({ level }) => level === "error",
  );
}

/** Creates a dispatcher that holds every session it is given and runs the script for its messages. */
function createDispatcher(log: Log, play: Play): RunDispatcher {
  const held = new Map<string, ReturnType<typeof openSession>>();
  return {
    agents: [],
    resolveAgent(name) {
      if (name !== undefined && name !== "echo") throw new LoomError("unknown_agent", `Unknown agent "${name}"`);
      return "echo";
    },
    async dispatch(sessionId) {
      if (held.has(sessionId)) return false;
      const onRun = async (run: Run) => play(run, run.message ?? "");
      held.set(sessionId, openSession(log, sessionId, { onRun }));
      return false;
    },
    start: async () => undefined,
    get size() {
      return held.size;
    },
    liveRuns: 0,
    async close() {
      for (const session of held.values()) await (await session).close();
    },
  };
}
