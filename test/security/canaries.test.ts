/**
 * Puts secrets and stack traces into every error of the server, its stores, agents, tools and providers, and expects
 * none of them in any response, frame or dialect. By design, the message of a tool's error is shown, and so is a
 * provider's message without anything that looks like a key; their stacks, causes and other fields are not.
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
import { OPERATIONS } from "../../src/server/operations.ts";
import { SERVER_LIMITS } from "../../src/server/guard/server-limits.ts";
import { defineTool } from "../../src/tools/index.ts";
import { call as callMcp, closeAll, open, serve } from "../contracts/mcp-fixture.ts";
import { overrideLog } from "../log-sessions.ts";
import { LONG } from "../sampling.ts";
import { packageRoot } from "../source-files.ts";
import { testSlowThreat, testThreat } from "./test-threat.ts";

/** Looks like a key, so that redaction can detect it. */
const KEY = "sk-canary-4f1d77aa90c2e6b35d";
const WORD = "canary-9e27b1";
const STACK_LOCATION = "/home/canary-user/secret/stack-marker.ts:12:34";
const FORBIDDEN = [
  /canary/i,
  /stack-marker/,
  new RegExp(`${packageRoot.replaceAll(/[^\w/]/g, "\\$&")}|/src/[\\w-]+/[\\w-]+\\.ts`),
  /node:internal/,
  /^\s+at \S+ \(/m,
  /\\n\s+at /,
];

/** Creates an error with secrets in all of its fields. */
function makeError(message: string, Kind: new (message: string) => Error = Error): Error {
  const error = new Kind(message);
  error.stack = `${Kind.name}: ${message}\n    at secret (${STACK_LOCATION})\n    at ${WORD} (node:internal/x:1:1)`;
  error.cause = new Error(`${WORD} ${KEY}`);
  return Object.assign(error, {
    apiKey: KEY,
    path: STACK_LOCATION,
    requestBodyValues: { key: KEY },
    responseHeaders: { authorization: KEY },
    details: { canary: WORD },
    config: { headers: { authorization: `Bearer ${WORD}` } },
  });
}

/** Throws an error whose message must not be visible to clients. */
const thrown = (): never => {
  throw makeError(`it broke: ${WORD} ${KEY} in ${STACK_LOCATION}`);
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
  // Tests with a failing log expect `ready` to reject.
  server.handler.ready.catch(() => undefined);
  onTestFinished(() => server.close({ graceMs: 0 }));
  return server;
}

/** Long enough for a busy machine, and the time for streams that may never end. */
const READ_MS = 30_000;
const ENDLESS_MS = 1000;
const FRAMINGS = ["text/event-stream", "application/x-ndjson"];
const PATIENT = { timeout: 120_000 };
/** Servers at the same time. */
const AT_ONCE = 6;

/** Returns the status, headers and body of a response; of a stream, what arrives within `ms`. */
async function fetchText(server: LoomServer, path: string, init: RequestInit = {}, ms = READ_MS): Promise<string> {
  try {
    const response = await fetch(`${server.url}${path}`, { ...init, signal: AbortSignal.timeout(ms) });
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

/** Returns everything received on a socket after these frames, until no more arrives. */
async function readSocket(server: LoomServer, path: string, ...frames: readonly object[]): Promise<string> {
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

const SHORT_RUN_PARTS = 4;
let turn = 0;

/** Collects everything that a client can see of a run and its session. */
async function collectOutput(server: LoomServer, ms = READ_MS, chatMs = READ_MS): Promise<readonly string[]> {
  const seen = [
    await fetchText(server, "/v1/sessions/s/runs", post({ message: "Go on" }, { accept: "text/event-stream" }), ms),
  ];
  seen.push(
    ...(await Promise.all([
      ...DIALECT_NAMES.flatMap((dialect, index) =>
        FRAMINGS.filter((_, at) => LONG || at === index % FRAMINGS.length).map((accept) =>
          fetchText(server, `/v1/sessions/s/events?dialect=${dialect}`, { headers: { accept } }, ms),
        ),
      ),
      readSocket(
        server,
        "/v1/ws",
        { type: "run", id: "1", session: "t", message: "Go on" },
        { type: "subscribe", id: "2", session: "t" },
        { type: "subscribe", id: "3", session: "s", dialect: "engine" },
        { type: "cancel", id: "4", session: "s", run_id: "x" },
      ),
      readSocket(server, "/agentOS/v1/ws_stream", { type: "message", content: "Go on" }),
      // It ends with the run, also if a call needs an approval.
      fetchText(
        server,
        "/api/chat",
        post({ messages: [{ role: "user", content: "Go on" }], message: "Go on" }),
        chatMs,
      ),
    ])),
  );
  turn++;
  // In the short run each fault is tried with some of them.
  const paths = OPERATIONS.filter(({ method, path }) => method === "GET" && !path.endsWith("/events")).filter(
    (_, index) => LONG || index % SHORT_RUN_PARTS === turn % SHORT_RUN_PARTS,
  );
  seen.push(
    ...(await Promise.all(
      paths.map(({ path }) => fetchText(server, path.replace("{id}", "s").replaceAll(/\{\w+\}/g, "x"), {}, ms)),
    )),
  );
  return seen;
}

function expectNoSecrets(seen: readonly string[]): void {
  for (const text of seen)
    for (const pattern of FORBIDDEN) {
      const at = text.search(pattern);
      if (at >= 0) throw new Error(`${String(pattern)} in …${text.slice(Math.max(0, at - 200), at + 120)}…`);
    }
}

const call = (name: string): ScriptedTurn => ({ calls: [{ name, input: {} }] });
const done: ScriptedTurn = { text: "Done." };

/** Creates a model that repeats these turns for every run. */
const play = (...turns: readonly ScriptedTurn[]): ScriptedModel => {
  let at = 0;
  return new ScriptedModel(() => turns[at++ % turns.length] ?? done);
};

describe("agents and tools", () => {
  const faults: { readonly [name: string]: () => AgentOptions } = {
    "a model that throws": () => ({ model: play({ fault: { kind: "throw", error: makeError(`refused ${KEY}`) } }) }),
    "a model that fails during the answer": () => ({
      model: play({ text: "Some words", fault: { kind: "error", after: 1, error: makeError(`bad key ${KEY}`) } }),
    }),
    "a model whose stream breaks": () => ({
      model: play({ text: "Some words", fault: { kind: "break", after: 1, error: makeError(`lost ${KEY}`) } }),
    }),
    "a model that throws a stack trace": () => ({
      model: play({ fault: { kind: "throw", error: `no\n    at ${WORD} (${STACK_LOCATION})` } }),
    }),
    "a model that throws an object": () => ({
      model: play({ fault: { kind: "throw", error: { canary: WORD, apiKey: KEY, stack: STACK_LOCATION } } }),
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
    "a tool that throws a stack trace": () =>
      withTool(() => {
        throw new Error(`the tool broke\n    at ${WORD} (${STACK_LOCATION})`);
      }),
    "a tool that throws an object": () =>
      withTool(() => {
        const object: unknown = { canary: WORD, stack: STACK_LOCATION, key: KEY };
        throw object;
      }),
    "a tool that fails while streaming output": () =>
      withTool(async function* print() {
        yield "some output";
        throw makeError("the tool broke");
      }),
    "a tool that returns an error": () => withTool(() => makeError("the tool broke")),
    "a tool whose result cannot be serialized": () => withTool(() => ({ toJSON: thrown })),
    "an approval rule that throws": () => withTool(() => "x", { approval: thrown }),
    "an input schema that throws": () =>
      withTool(() => "x", {
        input: z.object({}).refine(() => {
          throw makeError("not checked");
        }),
      }),
    "a system prompt with a secret": () => ({ model: play(done), systemInstructions: `Never say ${WORD}.` }),
    "a callback that throws": () => ({ model: play(done), callbacks: [{ name: "bad", onEvent: thrown }] as never }),
  };

  function withTool(execute: () => unknown, options: object = {}): AgentOptions {
    const tool = defineTool({ name: "act", description: "Acts.", input: z.object({}), execute, ...options });
    return { model: play(call("act"), done), tools: [tool] };
  }

  testSlowThreat(
    "leaks-in-errors",
    "failing agents and tools leak no secret",
    async ({ attempt, sample }) => {
      const kindOf = ([name]: readonly [string, unknown]): string => name.split(" ")[1] ?? "";
      const chosen = sample(Object.entries(faults), { kindOf });
      const tryFault = ([name, make]: (typeof chosen)[number]): Promise<void> =>
        attempt(name, async () => {
          const server = await start({ agent: make() });
          // A run whose call waits for an approval does not end.
          const seen = await collectOutput(server, name.includes("approval") ? ENDLESS_MS : READ_MS);
          expect(seen.join("\n")).toMatch(name.includes("approval") ? /run_end|tool_approval/ : /run_end/);
          expectNoSecrets(seen);
        });
      for (let at = 0; at < chosen.length; at += AT_ONCE)
        await Promise.all(chosen.slice(at, at + AT_ONCE).map(tryFault));
    },
    PATIENT,
  );

  testThreat("leaks-in-errors", "shows the message of a tool's error, without its stack", async () => {
    const model = play(call("act"), done);
    const tools = [defineTool({ name: "act", description: "Acts.", input: z.object({}), execute: thrown })];
    const seen = await collectOutput(await start({ agent: { model, tools } }));
    expect(() => expectNoSecrets(seen)).toThrow(/canary/);
    // The message is visible in every dialect that includes tool results.
    expect(seen.filter((text) => text.includes(`it broke: ${WORD}`)).length).toBeGreaterThan(DIALECT_NAMES.length);
    expect(seen.join("\n")).not.toContain(`at secret (${STACK_LOCATION})`);
    expect(seen.join("\n")).not.toContain(`at ${WORD}`);
  });

  testSlowThreat("leaks-in-errors", "failing tools of an MCP server leak no secret", async ({ attempt, sample }) => {
    const servers = await open({ s: serve("usual", { env: { TOKEN: KEY } }) }, { approval: "never" });
    await attempt("env", async () => {
      // The MCP server may show its own environment; it does not get ours.
      const { text } = await callMcp(servers, "s__env");
      expect(text).toContain("TOKEN");
      expect(text).not.toMatch(new RegExp(`${WORD}|ANTHROPIC_API_KEY`));
    });
    const tryTool = (name: string): Promise<void> =>
      attempt(name, async () => {
        const tool = servers.tools.find((each) => each.name.endsWith(name));
        const model = play(call(tool?.name ?? ""), done);
        const seen = await collectOutput(await start({ agent: { model, tools: servers.tools } }));
        expect(seen.join("\n")).toContain("tool_end");
        expectNoSecrets(seen);
      });
    await Promise.all(sample(["fail", "told", "stack", "silent"], { perKind: 2 }).map(tryTool));
    // Ends the MCP server.
    await tryTool("die");
    await attempt("a server that fails to start", async () => {
      const { servers: states } = await open({ s: serve("exit", { env: { TOKEN: KEY } }) });
      expect(states).toHaveLength(1);
      // Its stderr output is only for the operator.
      expectNoSecrets(states.map(({ stderr: _printed, ...state }) => JSON.stringify(state)));
    });
    await closeAll();
  });

  testThreat("leaks-in-errors", "a provider that repeats the request leaks no secret", async ({ attempt, sample }) => {
    const answers = [
      [401, "application/json", { error: { message: `Incorrect API key provided: ${KEY}`, type: "x", code: "y" } }],
      [500, "text/html", `<pre>Error: ${KEY}\n    at ${WORD} (${STACK_LOCATION})</pre>`],
      [400, "application/json", { error: { message: `authorization: Bearer ${WORD}`, param: KEY } }],
      [200, "application/json", { canary: WORD, key: KEY }],
      [200, "text/event-stream", `data: {"canary":"${WORD}","error":{"message":"api_key=${WORD}"}}\n\n`],
    ] as const;
    const tryAnswer = ([status, type, body]: (typeof answers)[number]): Promise<void> =>
      attempt(`${status} ${type}`, async () => {
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
        const seen = await collectOutput(server);
        provider.close();
        provider.closeAllConnections();
        expectNoSecrets(seen);
      });
    const kindOf = ([status]: (typeof answers)[number]): string => String(status);
    await Promise.all(sample(answers, { kindOf }).map(tryAnswer));
  });
});

describe("the server", () => {
  /** Only `peek` is synchronous. */
  const failing = (log: Log, names: readonly string[]): Log =>
    overrideLog(log, () => Object.fromEntries(names.map((name) => [name, name === "peek" ? thrown : rejected])));

  testThreat("leaks-in-errors", "a failing log leaks no secret", async ({ attempt, sample }) => {
    const usual = "getSession listSessions read append listRuns createSession submit searchSessions acquire".split(" ");
    const others =
      "renew release peek getRun findFoldStart getLandmark listLandmarks getCommand listPending listOrphans listActiveSessions";
    const names = sample([...usual, ...others.split(" ")], {
      perKind: 3,
      kindOf: (name) => (usual.includes(name) ? "usual" : "other"),
    });
    expect(names.filter((name) => typeof Reflect.get(new MemoryLog(), name) !== "function")).toEqual([]);
    await Promise.all(
      names.map((name) =>
        // Without its log, a run may never end.
        attempt(name, async () =>
          expectNoSecrets(
            await collectOutput(await start({ log: failing(new MemoryLog(), [name]) }), ENDLESS_MS, ENDLESS_MS),
          ),
        ),
      ),
    );
  });

  testThreat("leaks-in-errors", "a failing blob store leaks no secret", async ({ attempt }) => {
    const store = createMemoryBlobStore(SERVER_LIMITS);
    const blobs: BlobStore = new Proxy(store, {
      get: (target, name) => (name === "close" ? () => target.close() : rejected),
    });
    const server = await start({ blobs });
    await fetchText(server, "/v1/sessions", post({ session_id: "s" }));
    for (const [path, init] of [
      ["/v1/sessions/s/blobs", { method: "POST", headers: { "content-type": "image/png" }, body: "x" }],
      ["/v1/sessions/s/blobs", {}],
      [`/v1/sessions/s/blobs/${"0".repeat(64)}`, {}],
      ["/v1/sessions/s", { method: "DELETE" }],
    ] as const)
      await attempt(path, async () => expectNoSecrets([await fetchText(server, path, init)]));
  });

  testThreat("leaks-in-errors", "a failing knowledge base leaks no secret", async ({ attempt }) => {
    const knowledge = {
      list: rejected,
      stats: rejected,
      search: rejected,
      read: rejected,
      addBytes: rejected,
      removeDocument: rejected,
    };
    const server = await start({ knowledge });
    for (const [path, init] of [
      ["/v1/knowledge", {}],
      ["/v1/knowledge/search?query=x", {}],
      ["/v1/knowledge/x/text", {}],
      ["/v1/knowledge?uri=x", { method: "POST", headers: { "content-type": "text/plain" }, body: "x" }],
      ["/v1/knowledge/x", { method: "DELETE" }],
      ["/readyz", {}],
    ] as const)
      await attempt(path, async () => {
        const output = await fetchText(server, path, init);
        expect(output).not.toMatch(/^404/);
        expectNoSecrets([output]);
      });
  });

  testThreat("leaks-in-errors", "an authorize function that throws leaks no secret", async () => {
    const servers = await Promise.all([thrown, rejected].map((authorize) => start({ authorize })));
    for (const seen of await Promise.all(servers.map((server) => collectOutput(server)))) expectNoSecrets(seen);
  });

  testThreat("leaks-in-errors", "a page handler that throws leaks no secret", async () => {
    for (const page of [thrown, rejected]) {
      const server = await start({ page });
      const output = await fetchText(server, "/");
      expect(output).toMatch(/^500/);
      expectNoSecrets([output, await fetchText(server, "/assets/x.js")]);
    }
  });

  testThreat("leaks-in-errors", "failing observers, callbacks and meters leak no secret", async () => {
    const observers = [
      { openRun: thrown },
      { openRun: () => ({ observe: thrown, close: thrown, take: thrown, end: thrown }) },
    ];
    const meter = { openStream: thrown, refuseStream: thrown, closeSlowReader: thrown };
    expectNoSecrets(
      await collectOutput(
        await start({
          observers: observers as never,
          callbacks: [{ onEvent: thrown }] as never,
          meter,
          register: { metrics: rejected, contentType: "text/plain" },
        }),
      ),
    );
  });

  testThreat("leaks-in-errors", "refused requests reveal nothing about the machine", async ({ attempt }) => {
    const server = await start({});
    const tryOperation = ({ method, path }: (typeof OPERATIONS)[number]): Promise<void> =>
      attempt(`${method} ${path}`, async () => {
        const target = path.replaceAll(/\{\w+\}/g, "..%2f..%2fetc");
        const body = method === "GET" ? {} : { body: "{", headers: { "content-type": "application/json" } };
        expectNoSecrets([
          await fetchText(server, target, { method, ...body }, ENDLESS_MS),
          await fetchText(server, `${target}?after=x&dialect=x&limit=x&cursor=x`, { method }, ENDLESS_MS),
        ]);
      });
    await Promise.all(OPERATIONS.map(tryOperation));
  });
});
