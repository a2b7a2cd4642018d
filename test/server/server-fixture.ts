// A test fixture for the HTTP endpoints: a log, scripted agents, blobs and streams, called without a socket. Everything
// is closed when the test ends.
import { expect, onTestFinished } from "vitest";
import type { AnyOperation } from "../../src/server/api/operation.ts";
import { createGates } from "../../src/server/api/gates.ts";
import { agent } from "../../src/agents/index.ts";
import { createLog } from "../contracts/sender.ts";
import { createSseDecoder } from "../../src/framing/index.ts";
import type { Log } from "../../src/log/index.ts";
import type { Script } from "../../src/models/scripted-model.ts";
import { ScriptedModel } from "../../src/models/testing.ts";
import type { JsonObject } from "../../src/protocol/index.ts";
import { OPERATIONS } from "../../src/server/operations.ts";
import { createMemoryBlobStore } from "../../src/server/blobs/create-memory-blob-store.ts";
import { createCommandHost } from "../../src/server/commands/command-host.ts";
import { LOCAL } from "../../src/server/auth/principal.ts";
import { NO_AUDIT } from "../../src/server/auth/audit/auditor.ts";
import { OPEN_ACCESS } from "../../src/server/auth/open-access.ts";
import { allowAll, type Authorize } from "../../src/server/auth/authorize.ts";
import { createApp } from "../../src/server/http/create-app.ts";
import { createRunDispatcher } from "../../src/server/runs/create-run-dispatcher.ts";
import type { ServedAgents } from "../../src/server/runs/agent-registry.ts";
import type { ServedKnowledge, ServerCore } from "../../src/server/api/server-core.ts";
import { SERVER_LIMITS, type ServerLimits } from "../../src/server/guard/server-limits.ts";
import { createStreams } from "../../src/server/streams/create-streams.ts";
import { createTools } from "../agents/counted-tools.ts";
import { checkResponse } from "./check-response.ts";

export interface ServerFixtureOptions {
  readonly timestamps?: "seconds";
  /** The script of the agent `main`. Ignored when `agents` is given. */
  readonly script?: Script;
  readonly agents?: ServedAgents;
  readonly log?: Log;
  readonly limits?: Partial<ServerLimits>;
  readonly authorize?: Authorize;
  readonly basePath?: string;
  readonly knowledge?: ServedKnowledge;
  /** Default: all operations of the server. */
  readonly operations?: readonly AnyOperation[];
}

export interface ServerFixture {
  readonly core: ServerCore;
  readonly log: Log;
  /** Errors hidden from users. */
  readonly reported: readonly unknown[];
  /** The inputs of all tool calls. */
  readonly ran: readonly unknown[];
  fetch(path: string, init?: RequestInit): Promise<Response>;
  /** Sends a request, checks the status, and returns the JSON body. */
  ask(method: string, path: string, body?: unknown, options?: RequestOptions): Promise<JsonObject>;
}

export interface RequestOptions {
  /** Default: 200. */
  readonly status?: number;
  readonly headers?: { readonly [name: string]: string };
}

const ORIGIN = "http://127.0.0.1";

export async function createServerFixture(options: ServerFixtureOptions = {}): Promise<ServerFixture> {
  const { script = [], basePath = "", authorize = allowAll } = options;
  const log = options.log ?? (await createLog());
  const limits = { ...SERVER_LIMITS, ...options.limits };
  const reported: unknown[] = [];
  const report = (error: unknown): string => `error-${reported.push(error)}`;
  const { tools, ran } = createTools();
  const agents = options.agents ?? { main: agent({ model: new ScriptedModel(script), tools, onError: report }) };
  const runs = createRunDispatcher({ log, agents, onError: report, lingerMs: 20 });
  const streams = createStreams({ log, limits, timestamps: options.timestamps, onError: report });
  const blobs = createMemoryBlobStore(limits);
  const closing = new AbortController();
  const core: ServerCore = {
    log,
    limits,
    streams,
    runs,
    blobs,
    knowledge: options.knowledge,
    commands: createCommandHost({ log, runs, limits, blobs, report }),
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
  const app = createApp(core, { operations: options.operations ?? OPERATIONS, socketPaths: new Set() });
  onTestFinished(async () => {
    closing.abort();
    await streams.close();
    await runs.close({ graceMs: 0 });
    await blobs.close();
  });

  const fetch = async (path: string, init: RequestInit = {}): Promise<Response> => {
    const request = new Request(`${ORIGIN}${path}`, init);
    const url = new URL(request.url);
    const { method, headers } = request;
    const caller = { method, headers, url, address: undefined, origin: ORIGIN, principal: LOCAL, shares: [] };
    const response = await app.fetch(request, { caller, node: {}, path: url.pathname, requestId: "request-1" });
    await checkResponse(request.method, url.pathname, response);
    return response;
  };
  return {
    core,
    log,
    reported,
    ran,
    fetch,
    async ask(method, path, body, { status = 200, headers = {} } = {}) {
      const sent = body === undefined ? {} : { body: JSON.stringify(body) };
      const type = body === undefined ? {} : { "content-type": "application/json" };
      const response = await fetch(path, { method, headers: { ...type, ...headers }, ...sent });
      const text = await response.text();
      expect([response.status, response.status === status ? "" : text]).toEqual([status, ""]);
      return (text === "" ? {} : JSON.parse(text)) as JsonObject;
    },
  };
}

export interface SseEvent {
  readonly id: string | undefined;
  readonly data: string;
}

/** Reads all events of an SSE body. */
export async function readSse(response: Response): Promise<readonly SseEvent[]> {
  const events: SseEvent[] = [];
  for await (const event of followSse(response)) events.push(event);
  return events;
}

/** Yields the events of an SSE body as they arrive. */
export async function* followSse(response: Response): AsyncGenerator<SseEvent, void, undefined> {
  expect(response.headers.get("content-type")).toBe("text/event-stream");
  const decoder = createSseDecoder();
  for await (const bytes of response.body ?? []) {
    for (const outcome of decoder.push(bytes)) if (outcome.ok) yield { id: outcome.id, data: outcome.text };
  }
}
