// A listening server with authentication and a session owned by `ann`, and clients for every kind of credential and
// every long-lived connection.
import { onTestFinished } from "vitest";
import { WebSocket } from "ws";
import { agent } from "../../src/agents/index.ts";
import { MemoryLog } from "../../src/log/index.ts";
import type { Script } from "../../src/models/scripted-model.ts";
import { ScriptedModel } from "../../src/models/testing.ts";
import type { JsonObject } from "../../src/protocol/index.ts";
import type { Credentials, NewToken } from "../../src/server/auth/credentials/credentials.ts";
import { openCredentials } from "../../src/server/auth/credentials/open-credentials.ts";
import type { Principal, PrincipalLimits } from "../../src/server/auth/principal.ts";
import { type LoomServerOptions, startLoomServer } from "../../src/server/loom-server.ts";
import { createTools } from "../agents/counted-tools.ts";

export const OWNER = "ann";
export const SESSION = "s";

/** Headers and query string that authenticate a request. */
export interface RequestAuth {
  readonly headers: { readonly [name: string]: string };
  readonly query: string;
}

export interface OpenConnection {
  /** Resolves when the first data arrives; rejects if the connection is refused. */
  readonly started: Promise<unknown>;
  /**
   * How the connection ended: `broken`, `polite` (a complete HTTP body), a refusal's status, or the WebSocket close
   * code and reason.
   */
  readonly ended: Promise<string>;
  send(frame: JsonObject): void;
  close(): void;
  /** Messages or chunks received so far. */
  readonly received: readonly string[];
  waitFor(what: (text: string) => boolean): Promise<string>;
}

export interface AuthServerFixtureOptions {
  readonly script?: Script;
  readonly limits?: PrincipalLimits;
  /** Path of the credentials file (default: in memory). */
  readonly file?: string;
  readonly server?: Pick<LoomServerOptions, "blobs" | "knowledge" | "audit" | "auditRequired" | "trustedProxies">;
}

export async function createAuthServerFixture({
  script = [],
  limits,
  file = ":memory:",
  server: more,
}: AuthServerFixtureOptions = {}) {
  const credentials = openCredentials(file);
  const log = new MemoryLog();
  const reported: unknown[] = [];
  const { tools, ran } = createTools();
  const agents = { main: agent({ model: new ScriptedModel(script), tools }) };
  // Many tests send invalid credentials, all from one address.
  const authOptions = { credentials, limits, maxFailures: 1000 };
  const onError = (error: unknown): void => void reported.push(error);
  const server = await startLoomServer({ ...more, log, agents, port: 0, auth: authOptions, onError });
  const sockets = new Set<WebSocket>();
  onTestFinished(async () => {
    for (const socket of sockets) socket.terminate();
    await server.close({ graceMs: 0 });
    await credentials.close();
  });
  await log.createSession(SESSION, { owner: OWNER });

  const openSocket = (path: string, { headers, query }: RequestAuth): OpenConnection => {
    const url = new URL(`${server.url.replace("http", "ws")}${path}`);
    for (const [name, value] of new URLSearchParams(query)) url.searchParams.set(name, value);
    const socket = new WebSocket(url, { headers });
    sockets.add(socket);
    const received: string[] = [];
    const waiting = new Set<() => void>();
    const started = Promise.withResolvers<unknown>();
    const ended = Promise.withResolvers<string>();
    started.promise.catch(() => undefined);
    socket.on("message", (data: Buffer) => {
      received.push(data.toString());
      started.resolve(true);
      for (const check of waiting) check();
    });
    // This endpoint sends nothing before the first message of the client.
    if (path === "/openai/v1/responses") socket.on("open", () => started.resolve(true));
    socket.on("unexpected-response", (request, { statusCode = 0 }) => {
      ended.resolve(String(statusCode));
      started.reject(new Error(`${path} answers ${statusCode}`));
      request.destroy();
    });
    socket.on("error", (error) => started.reject(error));
    socket.on("close", (code, reason) => ended.resolve(`${code} ${reason.toString()}`));
    return {
      started: started.promise,
      ended: ended.promise,
      received,
      send: (frame) => socket.send(JSON.stringify(frame)),
      close: () => socket.close(),
      waitFor: (what) =>
        new Promise((resolve, reject) => {
          const check = (): void => {
            const found = received.find(what);
            if (found === undefined) return;
            waiting.delete(check);
            resolve(found);
          };
          waiting.add(check);
          check();
          // All messages have arrived when the connection ends.
          void ended.promise.then((how) =>
            reject(new Error(`${path} ended (${how}) after ${received.join("\n").slice(-500)}`)),
          );
        }),
    };
  };

  const openHttp = (path: string, accept: string, { headers, query }: RequestAuth): OpenConnection => {
    const started = Promise.withResolvers<unknown>();
    const received: string[] = [];
    const read = async (): Promise<string> => {
      const address = `${server.url}${path}${path.includes("?") ? "&" : "?"}${query}`;
      const response = await fetch(address, { headers: { accept, ...headers } });
      if (response.status !== 200) {
        started.reject(new Error(`${path} answers ${response.status}: ${await response.text()}`));
        return String(response.status);
      }
      try {
        for await (const bytes of response.body ?? []) {
          received.push(Buffer.from(bytes).toString());
          started.resolve(true);
        }
        return "polite";
      } catch {
        return "broken";
      }
    };
    started.promise.catch(() => undefined);
    const ended = read();
    const none = (): never => {
      throw new Error("an HTTP response cannot be written to");
    };
    return { started: started.promise, ended, received, send: none, close: none, waitFor: none };
  };

  const bearer = (secret: string): RequestAuth => ({ headers: { authorization: `Bearer ${secret}` }, query: "" });
  const cookie = (name: string, secret: string): RequestAuth => ({
    headers: { cookie: `${name}=${secret}`, origin: server.url },
    query: "",
  });
  return {
    server,
    log,
    credentials,
    reported,
    /** Tool calls that ran. */
    ran,
    openSocket,
    openHttp,
    bearer,
    /** Creates a token of the session's owner. */
    issue: (token: Partial<NewToken> = {}) =>
      credentials.createToken({ name: `t${Math.random()}`, owner: OWNER, ...token }),
    sessionCookie: (secret: string): RequestAuth => cookie(`loom-session-${server.port}`, secret),
    shareCookie: (shareId: string, secret: string): RequestAuth => cookie(`loom-share-${shareId}`, secret),
    ticket: async (principal: Principal): Promise<RequestAuth> => {
      const { secret } = await credentials.createTicket(principal, { expiresAt: Date.now() + 30_000 });
      return { headers: {}, query: `ticket=${secret}` };
    },
    find: (secret: string): Promise<Principal> => findPrincipal(credentials, secret),
    /** Creates a share link, optionally in the name of a maker. */
    async share(maker?: string) {
      const info = await log.getSession(SESSION);
      return credentials.createShare({ session: SESSION, incarnation: info?.incarnation ?? "", owner: OWNER, maker });
    },
    async ask(method: string, path: string, auth: RequestAuth, body?: JsonObject): Promise<Response> {
      const sent = body === undefined ? {} : { body: JSON.stringify(body) };
      const headers = {
        accept: "application/problem+json, */*",
        ...auth.headers,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      };
      return fetch(`${server.url}${path}`, { method, headers, ...sent });
    },
  };
}

export type AuthServerFixture = Awaited<ReturnType<typeof createAuthServerFixture>>;

async function findPrincipal(credentials: Credentials, secret: string): Promise<Principal> {
  const principal = await credentials.find(secret);
  if (principal === undefined) throw new Error("unknown credential");
  return principal;
}
