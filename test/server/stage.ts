// A stage for the doors of the server: a log, agents that play a script, blobs, streams, and the doors over HTTP as they
// are mounted, without a socket. Whatever was opened is closed when the test ends.
import { expect, onTestFinished } from "vitest";
import { agent } from "../../src/agents/index.ts";
import { createLog } from "../../src/engine/sender.contract.ts";
import { createSseDecoder } from "../../src/framing/index.ts";
import type { Log } from "../../src/log/index.ts";
import type { Script } from "../../src/models/scripted-model.ts";
import { ScriptedModel } from "../../src/models/testing.ts";
import type { JsonObject } from "../../src/protocol/index.ts";
import { OPERATIONS } from "../../src/server/api/operations.ts";
import { createMemoryBlobStore } from "../../src/server/blobs/create-memory-blob-store.ts";
import { createCommandHost } from "../../src/server/commands/create-command-host.ts";
import { LOCAL } from "../../src/server/auth/principal.ts";
import { OPEN_ACCESS } from "../../src/server/auth/open-access.ts";
import { allowAll, type Authorize } from "../../src/server/guard/authorize.ts";
import { createApp } from "../../src/server/http/create-app.ts";
import { createRunDesk } from "../../src/server/runs/create-run-desk.ts";
import type { ServedAgents } from "../../src/server/runs/served-agents.ts";
import type { ServedKnowledge } from "../../src/server/served-knowledge.ts";
import type { ServerCore } from "../../src/server/server-core.ts";
import { SERVER_LIMITS, type ServerLimits } from "../../src/server/server-limits.ts";
import { createStreams } from "../../src/server/streams/create-streams.ts";
import { createTools } from "../agents/counted-tools.ts";
import { checkAnswer } from "./check-answer.ts";

export interface ServerStageOptions {
  /** What the model of the agent `main` says; ignored where agents are given. */
  readonly script?: Script;
  readonly agents?: ServedAgents;
  readonly log?: Log;
  readonly limits?: Partial<ServerLimits>;
  readonly authorize?: Authorize;
  readonly basePath?: string;
  readonly knowledge?: ServedKnowledge;
}

export interface ServerStage {
  readonly core: ServerCore;
  readonly log: Log;
  /** What was kept from users. */
  readonly reported: readonly unknown[];
  /** How often each tool ran, with what. */
  readonly ran: readonly unknown[];
  fetch(path: string, init?: RequestInit): Promise<Response>;
  /** The body of the answer, which has this status. */
  ask(method: string, path: string, body?: unknown, options?: AskOptions): Promise<JsonObject>;
}

export interface AskOptions {
  /** 200 when absent. */
  readonly status?: number;
  readonly headers?: { readonly [name: string]: string };
}

const ORIGIN = "http://127.0.0.1";

export async function setServerStage(options: ServerStageOptions = {}): Promise<ServerStage> {
  const { script = [], basePath = "", authorize = allowAll } = options;
  const log = options.log ?? (await createLog());
  const limits = { ...SERVER_LIMITS, ...options.limits };
  const reported: unknown[] = [];
  const report = (error: unknown): string => `error-${reported.push(error)}`;
  const { tools, ran } = createTools();
  const agents = options.agents ?? { main: agent({ model: new ScriptedModel(script), tools, onError: report }) };
  const runs = createRunDesk({ log, agents, onError: report, lingerMs: 20 });
  const streams = createStreams({ log, limits, onError: report });
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
    authorize,
    meter: undefined,
    register: undefined,
    basePath,
    version: "0.0.0-test",
    closing: closing.signal,
    report,
  };
  const app = createApp(core, { operations: OPERATIONS, socketPaths: new Set() });
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
    await checkAnswer(request.method, url.pathname, response);
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

/** All events of a body of server-sent events, to its end. */
export async function readSse(response: Response): Promise<readonly SseEvent[]> {
  const events: SseEvent[] = [];
  for await (const event of followSse(response)) events.push(event);
  return events;
}

/** One event after the other, as they come. */
export async function* followSse(response: Response): AsyncGenerator<SseEvent, void, undefined> {
  expect(response.headers.get("content-type")).toBe("text/event-stream");
  const decoder = createSseDecoder();
  for await (const bytes of response.body ?? []) {
    for (const outcome of decoder.push(bytes)) if (outcome.ok) yield { id: outcome.id, data: outcome.text };
  }
}
