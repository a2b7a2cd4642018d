// A stage of a server that asks everybody who they are, on a port of its own, with a session that belongs to `ann`; and
// clients that come by every way there is to bring a credential, at every door that stays open.
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

/** What is brought: in the head, in the address. */
export interface Pass {
  readonly headers: { readonly [name: string]: string };
  readonly query: string;
}

export interface Open {
  /** Something has come. */
  readonly live: Promise<unknown>;
  /** How it ended: `broken`, `polite`, or the code and the reason of a close. */
  readonly ended: Promise<string>;
  say(frame: JsonObject): void;
  leave(): void;
  /** Texts of a socket, so far. */
  readonly said: readonly string[];
  until(what: (text: string) => boolean): Promise<string>;
}

export interface GuardedStageOptions {
  readonly script?: Script;
  readonly limits?: PrincipalLimits;
  /** Of the credentials; in memory when absent. */
  readonly file?: string;
  readonly server?: Pick<LoomServerOptions, "blobs" | "knowledge">;
}

export async function setGuardedStage({
  script = [],
  limits,
  file = ":memory:",
  server: more,
}: GuardedStageOptions = {}) {
  const credentials = openCredentials(file);
  const log = new MemoryLog();
  const reported: unknown[] = [];
  const { tools, ran } = createTools();
  const agents = { main: agent({ model: new ScriptedModel(script), tools }) };
  // Many are refused here that show something, and all from one address.
  const auth = { credentials, limits, maxFailures: 1000 };
  const onError = (error: unknown): void => void reported.push(error);
  const server = await startLoomServer({ ...more, log, agents, port: 0, auth, onError });
  const sockets = new Set<WebSocket>();
  onTestFinished(async () => {
    for (const socket of sockets) socket.terminate();
    await server.close({ graceMs: 0 });
    credentials.close();
  });
  await log.createSession(SESSION, { owner: OWNER });

  const openSocket = (path: string, { headers, query }: Pass): Open => {
    const url = new URL(`${server.url.replace("http", "ws")}${path}`);
    for (const [name, value] of new URLSearchParams(query)) url.searchParams.set(name, value);
    const socket = new WebSocket(url, { headers });
    sockets.add(socket);
    const said: string[] = [];
    const waiting = new Set<() => void>();
    const live = Promise.withResolvers<unknown>();
    const ended = Promise.withResolvers<string>();
    live.promise.catch(() => undefined);
    socket.on("message", (data: Buffer) => {
      said.push(data.toString());
      live.resolve(true);
      for (const look of waiting) look();
    });
    socket.on("unexpected-response", (request, { statusCode = 0 }) => {
      ended.resolve(String(statusCode));
      live.reject(new Error(`${path} answers ${statusCode}`));
      request.destroy();
    });
    socket.on("error", (error) => live.reject(error));
    socket.on("close", (code, reason) => ended.resolve(`${code} ${reason.toString()}`));
    return {
      live: live.promise,
      ended: ended.promise,
      said,
      say: (frame) => socket.send(JSON.stringify(frame)),
      leave: () => socket.close(),
      until: (what) =>
        new Promise((resolve, reject) => {
          const look = (): void => {
            const found = said.find(what);
            if (found === undefined) return;
            waiting.delete(look);
            resolve(found);
          };
          waiting.add(look);
          look();
          // Where it ends it was said before, or never.
          void ended.promise.then((how) =>
            reject(new Error(`${path} ended (${how}) after ${said.join("\n").slice(-500)}`)),
          );
        }),
    };
  };

  const openHttp = (path: string, accept: string, { headers, query }: Pass): Open => {
    const live = Promise.withResolvers<unknown>();
    const said: string[] = [];
    const read = async (): Promise<string> => {
      const address = `${server.url}${path}${path.includes("?") ? "&" : "?"}${query}`;
      const response = await fetch(address, { headers: { accept, ...headers } });
      if (response.status !== 200) {
        live.reject(new Error(`${path} answers ${response.status}: ${await response.text()}`));
        return String(response.status);
      }
      try {
        for await (const bytes of response.body ?? []) {
          said.push(Buffer.from(bytes).toString());
          live.resolve(true);
        }
        return "polite";
      } catch {
        return "broken";
      }
    };
    live.promise.catch(() => undefined);
    const ended = read();
    const none = (): never => {
      throw new Error("nothing is said over HTTP");
    };
    return { live: live.promise, ended, said, say: none, leave: none, until: none };
  };

  const bearer = (secret: string): Pass => ({ headers: { authorization: `Bearer ${secret}` }, query: "" });
  const cookie = (name: string, secret: string): Pass => ({
    headers: { cookie: `${name}=${secret}`, origin: server.url },
    query: "",
  });
  return {
    server,
    log,
    credentials,
    reported,
    /** What tools were run with. */
    ran,
    openSocket,
    openHttp,
    bearer,
    /** A token of the owner's. */
    issue: (token: Partial<NewToken> = {}) =>
      credentials.createToken({ name: `t${Math.random()}`, owner: OWNER, ...token }),
    sessionCookie: (secret: string): Pass => cookie(`loom-session-${server.port}`, secret),
    shareCookie: (shareId: string, secret: string): Pass => cookie(`loom-share-${shareId}`, secret),
    ticket: (principal: Principal): Pass => {
      const { secret } = credentials.createTicket(principal, { expiresAt: Date.now() + 30_000 });
      return { headers: {}, query: `ticket=${secret}` };
    },
    find: (secret: string): Principal => findPrincipal(credentials, secret),
    /** A link, of whoever makes it. */
    async share(maker?: string) {
      const info = await log.getSession(SESSION);
      return credentials.createShare({ session: SESSION, incarnation: info?.incarnation ?? "", owner: OWNER, maker });
    },
    async ask(method: string, path: string, pass: Pass, body?: JsonObject): Promise<Response> {
      const sent = body === undefined ? {} : { body: JSON.stringify(body) };
      const headers = { ...pass.headers, ...(body === undefined ? {} : { "content-type": "application/json" }) };
      return fetch(`${server.url}${path}`, { method, headers, ...sent });
    },
  };
}

export type GuardedStage = Awaited<ReturnType<typeof setGuardedStage>>;

function findPrincipal(credentials: Credentials, secret: string): Principal {
  const principal = credentials.find(secret);
  if (principal === undefined) throw new Error("nobody has this credential");
  return principal;
}
