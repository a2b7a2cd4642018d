/**
 * Secrets and marks of stacks in everything that can go wrong, in the server, its stores, agents, tools and providers:
 * none of them is in any answer, in any frame, in any dialect. What a tool's error says in its message is shown by design,
 * and what a provider's says, without what looks like a key; their stacks, causes and other fields are not.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { afterAll, beforeAll, describe, expect, onTestFinished } from "vitest";
import { WebSocket } from "ws";
import { z } from "zod";
import { agent, type AgentOptions } from "../../src/agents/index.ts";
import { DIALECT_NAMES } from "../../src/dialects/index.ts";
import { type Log, MemoryLog } from "../../src/log/index.ts";
import type { ScriptedTurn } from "../../src/models/scripted-model.ts";
import { ScriptedModel } from "../../src/models/testing.ts";
import { createMemoryBlobStore } from "../../src/server/blobs/create-memory-blob-store.ts";
import type { BlobStore } from "../../src/server/blobs/blob-store.ts";
import { type LoomServer, type LoomServerOptions, startLoomServer } from "../../src/server/loom-server.ts";
import { OPERATIONS } from "../../src/server/api/operations.ts";
import { SERVER_LIMITS } from "../../src/server/server-limits.ts";
import { defineTool } from "../../src/tools/index.ts";
import { call as callMcp, closeAll, open, serve } from "../../src/tools/mcp/mcp-trial.contract.ts";
import { overrideLog } from "../log-sessions.ts";
import { ABUSE_SAMPLES } from "../sampling.ts";
import { itHolds } from "./it-holds.ts";

/** Looks like a key, so that whoever redacts has a chance. */
const KEY = "sk-canary-4f1d77aa90c2e6b35d";
const WORD = "canary-9e27b1";
const PLACE = "/home/canary-user/secret/stack-marker.ts:12:34";
const FORBIDDEN = [
  /canary/i,
  /stack-marker/,
  /\/work\/main|\/src\/[\w-]+\/[\w-]+\.ts/,
  /node:internal/,
  /^\s+at \S+ \(/m,
  /\\n\s+at /,
];

/** An error with something in every place where one can be hidden. */
function makeError(message: string, Kind: new (message: string) => Error = Error): Error {
  const error = new Kind(message);
  error.stack = `${Kind.name}: ${message}\n    at secret (${PLACE})\n    at ${WORD} (node:internal/x:1:1)`;
  error.cause = new Error(`${WORD} ${KEY}`);
  return Object.assign(error, {
    apiKey: KEY,
    path: PLACE,
    requestBodyValues: { key: KEY },
    responseHeaders: { authorization: KEY },
    details: { canary: WORD },
    config: { headers: { authorization: `Bearer ${WORD}` } },
  });
}

/** Of somebody whose words nobody may see. */
const thrown = (): never => {
  throw makeError(`it broke: ${WORD} ${KEY} in ${PLACE}`);
};
const rejected = (): Promise<never> => Promise.resolve().then(thrown);

const environment = { OPENAI_API_KEY: KEY, ANTHROPIC_API_KEY: KEY, CANARY: WORD, LOOM_SECRET: WORD };
beforeAll(() => void Object.assign(process.env, environment));
afterAll(() => {
  for (const name of Object.keys(environment)) delete process.env[name];
});

async function start(options: Partial<LoomServerOptions> & { readonly agent?: AgentOptions }): Promise<LoomServer> {
  const { agent: given = { model: new ScriptedModel(() => ({ text: "Hello." })) }, ...rest } = options;
  const server = await startLoomServer({
    log: new MemoryLog(),
    agents: { main: agent({ callOptions: { maxRetries: 0 }, ...given, onError: () => undefined }) },
    port: 0,
    onError: () => undefined,
    limits: { commandTimeoutMs: 300, heartbeatMs: 0 },
    ...rest,
  });
  // A store that fails has nothing more to say.
  server.handler.ready.catch(() => undefined);
  onTestFinished(() => server.close({ graceMs: 0 }));
  return server;
}

/** All that is told: status, headers and body; as much of a stream as comes in a moment. */
async function tell(server: LoomServer, path: string, init: RequestInit = {}): Promise<string> {
  try {
    const response = await fetch(`${server.url}${path}`, { ...init, signal: AbortSignal.timeout(1500) });
    const head = [...response.headers].map(([name, value]) => `${name}: ${value}`).join("\n");
    return `${response.status}\n${head}\n${await response.text().catch(() => "")}`;
  } catch (error) {
    return error instanceof Error ? error.name : "";
  }
}

const post = (body: unknown, headers = {}): RequestInit => ({
  method: "POST",
  headers: { "content-type": "application/json", ...headers },
  body: JSON.stringify(body),
});

/** What both sockets say to a message, until nothing more comes. */
async function listen(server: LoomServer, path: string, ...frames: readonly object[]): Promise<string> {
  const socket = new WebSocket(`${server.url.replace("http", "ws")}${path}`);
  const texts: string[] = [];
  let last = performance.now();
  socket.on("error", () => undefined);
  socket.on("message", (data: Buffer) => {
    texts.push(data.toString());
    last = performance.now();
  });
  socket.on("close", (code, reason) => texts.push(`${code} ${reason.toString()}`));
  await Promise.race([once(socket, "open"), once(socket, "close")]).catch(() => undefined);
  for (const frame of frames) if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(frame));
  while (performance.now() - last < 150 && socket.readyState === WebSocket.OPEN)
    await new Promise((resolve) => setTimeout(resolve, 20));
  socket.terminate();
  return texts.join("\n");
}

/** Every way there is to see a run of a session, and the session. */
async function seeAll(server: LoomServer): Promise<readonly string[]> {
  const seen = [await tell(server, "/v1/sessions/s/runs", post({ message: "Go on" }, { accept: "text/event-stream" }))];
  seen.push(
    ...(await Promise.all([
      ...DIALECT_NAMES.flatMap((dialect) =>
        ["text/event-stream", "application/x-ndjson"].map((accept) =>
          tell(server, `/v1/sessions/s/events?dialect=${dialect}`, { headers: { accept } }),
        ),
      ),
      listen(
        server,
        "/v1/ws",
        { type: "run", id: "1", session: "t", message: "Go on" },
        { type: "subscribe", id: "2", session: "t" },
        { type: "subscribe", id: "3", session: "s", dialect: "engine" },
        { type: "cancel", id: "4", session: "s", run_id: "x" },
      ),
      listen(server, "/agentOS/v1/ws_stream", { type: "message", content: "Go on" }),
      tell(server, "/api/chat", post({ messages: [{ role: "user", content: "Go on" }], message: "Go on" })),
    ])),
  );
  const paths = OPERATIONS.filter(({ method, path }) => method === "GET" && !path.endsWith("/events"));
  seen.push(
    ...(await Promise.all(
      paths.map(({ path }) => tell(server, path.replace("{id}", "s").replaceAll(/\{\w+\}/g, "x"))),
    )),
  );
  return seen;
}

function expectNothing(seen: readonly string[]): void {
  for (const text of seen)
    for (const pattern of FORBIDDEN) {
      const at = text.search(pattern);
      if (at >= 0) throw new Error(`${String(pattern)} in …${text.slice(Math.max(0, at - 200), at + 120)}…`);
    }
}

const call = (name: string): ScriptedTurn => ({ calls: [{ name, input: {} }] });
const done: ScriptedTurn = { text: "Done." };

/** A script that plays its turns for every run anew. */
const play = (...turns: readonly ScriptedTurn[]): ScriptedModel => {
  let at = 0;
  return new ScriptedModel(() => turns[at++ % turns.length] ?? done);
};

describe("agents and tools", () => {
  const faults: { readonly [name: string]: () => AgentOptions } = {
    "a model that throws": () => ({ model: play({ fault: { kind: "throw", error: makeError(`refused ${KEY}`) } }) }),
    "a model that fails in the middle": () => ({
      model: play({ text: "Some words", fault: { kind: "error", after: 1, error: makeError(`bad key ${KEY}`) } }),
    }),
    "a model that breaks": () => ({
      model: play({ text: "Some words", fault: { kind: "break", after: 1, error: makeError(`lost ${KEY}`) } }),
    }),
    "a model that throws its stack": () => ({
      model: play({ fault: { kind: "throw", error: `no\n    at ${WORD} (${PLACE})` } }),
    }),
    "a model that throws an object": () => ({
      model: play({ fault: { kind: "throw", error: { canary: WORD, apiKey: KEY, stack: PLACE } } }),
    }),
    "a tool that throws": () =>
      withTool(() => {
        throw makeError("the tool broke");
      }),
    "a tool that rejects": () => withTool(() => Promise.reject(makeError("the tool broke"))),
    "a tool that throws a TypeError": () =>
      withTool(() => {
        throw makeError("the tool broke", TypeError);
      }),
    "a tool that throws its stack": () =>
      withTool(() => {
        throw new Error(`the tool broke\n    at ${WORD} (${PLACE})`);
      }),
    "a tool that throws an object": () =>
      withTool(() => {
        const object: unknown = { canary: WORD, stack: PLACE, key: KEY };
        throw object;
      }),
    "a tool that breaks while it prints": () =>
      withTool(async function* print() {
        yield "some output";
        throw makeError("the tool broke");
      }),
    "a tool that gives an error": () => withTool(() => makeError("the tool broke")),
    "a tool that gives what cannot be told": () => withTool(() => ({ toJSON: thrown })),
    "consent that cannot be asked for": () => withTool(() => "x", { approval: thrown }),
    "arguments that cannot be checked": () =>
      withTool(() => "x", {
        input: z.object({}).refine(() => {
          throw makeError("not checked");
        }),
      }),
    "a secret in the instructions": () => ({ model: play(done), systemInstructions: `Never say ${WORD}.` }),
    "a callback that throws": () => ({ model: play(done), callbacks: [{ name: "bad", onEvent: thrown }] as never }),
  };

  function withTool(execute: () => unknown, options: object = {}): AgentOptions {
    const tool = defineTool({ name: "act", description: "Acts.", input: z.object({}), execute, ...options });
    return { model: play(call("act"), done), tools: [tool] };
  }

  for (const [name, make] of Object.entries(faults))
    itHolds("leaks-in-errors", name, async ({ count }) => {
      const server = await start({ agent: make() });
      const seen = await seeAll(server);
      count(seen.length);
      expect(seen.join("\n")).toMatch(/"run_end"|run_end/);
      expectNothing(seen);
    });

  itHolds("leaks-in-errors", "what a tool's error says is told, and so would be a mark in it", async () => {
    const model = play(call("act"), done);
    const tools = [defineTool({ name: "act", description: "Acts.", input: z.object({}), execute: thrown })];
    const seen = await seeAll(await start({ agent: { model, tools } }));
    expect(() => expectNothing(seen)).toThrow(/canary/);
    // Told in every dialect that tells of tools, and never with its stack.
    expect(seen.filter((text) => text.includes(`it broke: ${WORD}`)).length).toBeGreaterThan(DIALECT_NAMES.length);
    expect(seen.join("\n")).not.toContain(`at secret (${PLACE})`);
    expect(seen.join("\n")).not.toContain(`at ${WORD}`);
  });

  itHolds("leaks-in-errors", "tools of an MCP server that fail", async ({ attempt }) => {
    const servers = await open({ s: serve("usual", { env: { TOKEN: KEY } }) }, { approval: "never" });
    await attempt("env", async () => {
      // What it was given itself it may tell; of ours it was given nothing.
      const { text } = await callMcp(servers, "s__env");
      expect(text).toContain("TOKEN");
      expect(text).not.toMatch(new RegExp(`${WORD}|ANTHROPIC_API_KEY`));
    });
    for (const name of ["fail", "told", "stack", "silent", "die"])
      await attempt(name, async () => {
        const tool = servers.tools.find((each) => each.name.endsWith(name));
        const model = play(call(tool?.name ?? ""), done);
        const seen = await seeAll(await start({ agent: { model, tools: servers.tools } }));
        expect(seen.join("\n")).toContain("tool_end");
        expectNothing(seen);
      });
    await attempt("one that does not start", async () => {
      const { servers: states } = await open({ s: serve("exit", { env: { TOKEN: KEY } }) });
      expect(states).toHaveLength(1);
      // What it has printed is for whoever runs the server.
      expectNothing(states.map(({ stderr: _printed, ...state }) => JSON.stringify(state)));
    });
    await closeAll();
  });

  itHolds("leaks-in-errors", "a provider that repeats what it was sent", async ({ attempt }) => {
    for (const [status, type, body] of [
      [401, "application/json", { error: { message: `Incorrect API key provided: ${KEY}`, type: "x", code: "y" } }],
      [500, "text/html", `<pre>Error: ${KEY}\n    at ${WORD} (${PLACE})</pre>`],
      [400, "application/json", { error: { message: `authorization: Bearer ${WORD}`, param: KEY } }],
      [200, "application/json", { canary: WORD, key: KEY }],
      [200, "text/event-stream", `data: {"canary":"${WORD}","error":{"message":"api_key=${WORD}"}}\n\n`],
    ] as const)
      await attempt(`${status} ${type}`, async () => {
        const provider = createServer((_request, response) => {
          response.writeHead(status, { "content-type": type, "x-canary": WORD, "retry-after-ms": "1" });
          response.end(typeof body === "string" ? body : JSON.stringify(body));
        });
        provider.listen(0, "127.0.0.1");
        await once(provider, "listening");
        const { port } = provider.address() as AddressInfo;
        const baseURL = `http://user:${WORD}@127.0.0.1:${port}/v1?key=${KEY}`;
        const made = createOpenAICompatible({ name: "p", baseURL, apiKey: KEY });
        const server = await start({ agent: { model: made("m") as never } });
        const seen = await seeAll(server);
        provider.close();
        provider.closeAllConnections();
        expectNothing(seen);
      });
  });
});

describe("the server", () => {
  /** Of its methods only `peek` gives no promise. */
  const failing = (log: Log, names: readonly string[]): Log =>
    overrideLog(log, () => Object.fromEntries(names.map((name) => [name, name === "peek" ? thrown : rejected])));

  itHolds("leaks-in-errors", "a store that fails, wherever it does", async ({ attempt }) => {
    const usual = "getSession listSessions read append listRuns createSession submit searchSessions acquire";
    const others =
      "renew release peek getRun findFoldStart getLandmark listLandmarks getCommand listPending listOrphans";
    const names = (ABUSE_SAMPLES.isWhole ? `${usual} ${others}` : usual).split(" ");
    expect(names.filter((name) => typeof Reflect.get(new MemoryLog(), name) !== "function")).toEqual([]);
    await Promise.all(
      names.map((name) =>
        attempt(name, async () => expectNothing(await seeAll(await start({ log: failing(new MemoryLog(), [name]) })))),
      ),
    );
  });

  itHolds("leaks-in-errors", "blobs that fail", async ({ attempt }) => {
    const store = createMemoryBlobStore(SERVER_LIMITS);
    const blobs: BlobStore = new Proxy(store, {
      get: (target, name) => (name === "close" ? () => target.close() : rejected),
    });
    const server = await start({ blobs });
    await tell(server, "/v1/sessions", post({ session_id: "s" }));
    for (const [path, init] of [
      ["/v1/sessions/s/blobs", { method: "POST", headers: { "content-type": "image/png" }, body: "x" }],
      ["/v1/sessions/s/blobs", {}],
      [`/v1/sessions/s/blobs/${"0".repeat(64)}`, {}],
      ["/v1/sessions/s", { method: "DELETE" }],
    ] as const)
      await attempt(path, async () => expectNothing([await tell(server, path, init)]));
  });

  itHolds("leaks-in-errors", "a knowledge base that fails", async ({ attempt }) => {
    const knowledge = {
      list: rejected,
      stats: rejected,
      search: rejected,
      addBytes: rejected,
      removeDocument: rejected,
    };
    const server = await start({ knowledge });
    for (const [path, init] of [
      ["/v1/knowledge", {}],
      ["/v1/knowledge/search?query=x", {}],
      ["/v1/knowledge?uri=x", { method: "POST", headers: { "content-type": "text/plain" }, body: "x" }],
      ["/v1/knowledge/x", { method: "DELETE" }],
      ["/readyz", {}],
    ] as const)
      await attempt(path, async () => {
        const said = await tell(server, path, init);
        expect(said).not.toMatch(/^404/);
        expectNothing([said]);
      });
  });

  itHolds("leaks-in-errors", "whoever is asked for leave and throws", async () => {
    expectNothing(await seeAll(await start({ authorize: thrown })));
    expectNothing(await seeAll(await start({ authorize: rejected })));
  });

  itHolds("leaks-in-errors", "a page that throws", async () => {
    for (const page of [thrown, rejected]) {
      const server = await start({ page });
      const said = await tell(server, "/");
      expect(said).toMatch(/^500/);
      expectNothing([said, await tell(server, "/assets/x.js")]);
    }
  });

  itHolds("leaks-in-errors", "those who look on and throw", async () => {
    const observers = [
      { openRun: thrown },
      { openRun: () => ({ observe: thrown, close: thrown, take: thrown, end: thrown }) },
    ];
    const meter = { openStream: thrown, refuseStream: thrown, closeSlowReader: thrown };
    expectNothing(
      await seeAll(
        await start({
          observers: observers as never,
          callbacks: [{ onEvent: thrown }] as never,
          meter,
          register: { metrics: rejected, contentType: "text/plain" },
        }),
      ),
    );
  });

  itHolds("leaks-in-errors", "requests that are refused tell nothing of the machine", async ({ attempt }) => {
    const server = await start({});
    for (const { method, path } of OPERATIONS)
      await attempt(`${method} ${path}`, async () => {
        const target = path.replaceAll(/\{\w+\}/g, "..%2f..%2fetc");
        expectNothing([
          await tell(server, target, {
            method,
            ...(method === "GET" ? {} : { body: "{", headers: { "content-type": "application/json" } }),
          }),
          await tell(server, `${target}?after=x&dialect=x&limit=x&cursor=x`, method === "GET" ? {} : { method }),
        ]);
      });
  });
});
