// A server with a scripted agent, and the real `openai` client.
import OpenAI from "openai";
import { onTestFinished } from "vitest";
import { agent } from "../../src/agents/index.ts";
import { type Log, MemoryLog } from "../../src/log/index.ts";
import type { Script } from "../../src/models/scripted-model.ts";
import { ScriptedModel } from "../../src/models/testing.ts";
import {
  createMemoryBlobStore,
  type LoomServer,
  type LoomServerOptions,
  SERVER_LIMITS,
  startLoomServer,
} from "../../src/server/index.ts";
import { createTools } from "../agents/counted-tools.ts";

export interface OpenaiFixture {
  readonly client: OpenAI;
  readonly log: Log;
  readonly server: LoomServer;
  readonly model: ScriptedModel;
  /** The inputs of all tool calls of the server. */
  readonly ran: readonly unknown[];
  /** Base URL of the OpenAI endpoints. */
  readonly baseURL: string;
}

export async function createOpenaiFixture(
  script: Script,
  options: Partial<LoomServerOptions> = {},
): Promise<OpenaiFixture> {
  const { tools, ran } = createTools();
  const model = new ScriptedModel(script);
  const log = new MemoryLog();
  const server = await startLoomServer({
    log,
    agents: { main: agent({ model, tools, onError: () => undefined }) },
    port: 0,
    blobs: createMemoryBlobStore(SERVER_LIMITS),
    ...options,
  });
  onTestFinished(() => server.close({ graceMs: 0 }));
  await server.handler.ready;
  const baseURL = `${server.url}/openai/v1`;
  return { client: new OpenAI({ baseURL, apiKey: "any key", maxRetries: 0 }), log, server, model, ran, baseURL };
}

/** Reads a list or a stream to its end. */
export async function collect<T>(items: AsyncIterable<T>): Promise<readonly T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}
