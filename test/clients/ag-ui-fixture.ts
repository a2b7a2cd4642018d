// A server with scripted agents for clients of AG-UI, and the two versions of their client.
import { HttpAgent, type RunAgentResult } from "@ag-ui/client";
import { HttpAgent as OldHttpAgent } from "@ag-ui/client-0.0.59";
import { onTestFinished } from "vitest";
import { agent } from "../../src/agents/index.ts";
import { type Log, MemoryLog } from "../../src/log/index.ts";
import type { Script } from "../../src/models/scripted-model.ts";
import { ScriptedModel } from "../../src/models/testing.ts";
import { startLoomServer } from "../../src/server/loom-server.ts";
import { type FaultProxy, startFaultProxy } from "../server/fault-proxy.ts";
import { createTools } from "../agents/counted-tools.ts";

export const VERSIONS = [
  ["1.0.0", HttpAgent],
  ["0.0.59", OldHttpAgent as unknown as typeof HttpAgent],
] as const;

export interface AgUiServer {
  readonly url: string;
  readonly origin: string;
  readonly log: Log;
  /** The inputs of all tool calls. */
  readonly ran: readonly unknown[];
}

/** Starts a server whose agent `main` follows the script. Its tool `remove` needs approval. */
export async function startAgUiServer(
  script: Script,
  options: { readonly hosts?: readonly string[] } = {},
): Promise<AgUiServer> {
  const { tools, ran } = createTools();
  const log = new MemoryLog();
  const agents = { main: agent({ model: new ScriptedModel(script), tools }) };
  const server = await startLoomServer({ log, agents, port: 0, ...options });
  onTestFinished(() => server.close({ graceMs: 0 }));
  return { url: `${server.url}/ag-ui`, origin: server.url, log, ran };
}

/** Starts the server behind a proxy that can cut connections. */
export async function startCutServer(script: Script): Promise<AgUiServer & { readonly proxy: FaultProxy }> {
  let origin = "";
  const proxy = await startFaultProxy(
    () => origin,
    () => undefined,
  );
  onTestFinished(() => proxy.close());
  const server = await startAgUiServer(script, { hosts: [`127.0.0.1:${proxy.port}`] });
  origin = server.origin;
  return { ...server, url: `${proxy.url}/ag-ui`, proxy };
}

/** Sends a message of the user with a client. */
export function say(client: HttpAgent, text: string, runId?: string): Promise<RunAgentResult> {
  client.addMessage({ id: `u-${client.messages.length}`, role: "user", content: text });
  return client.runAgent(runId === undefined ? {} : { runId });
}
