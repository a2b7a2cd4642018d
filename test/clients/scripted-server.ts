// A server for the case tables of third-party clients. What its agent does depends on the first word of the message.
import { z } from "zod";
import { agent } from "../../src/agents/index.ts";
import type { Log } from "../../src/log/index.ts";
import type { ScriptedRequest, ScriptedTurn } from "../../src/models/scripted-model.ts";
import { ScriptedModel } from "../../src/models/testing.ts";
import { createMemoryBlobStore, type LoomServer, SERVER_LIMITS, startLoomServer } from "../../src/server/index.ts";
import { defineTool } from "../../src/tools/define-tool.ts";
import type { Tool } from "../../src/tools/tool.ts";
import { createTools } from "../agents/counted-tools.ts";

export const PIXEL =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

/** What the model does first, by the first word of the message. Then it says "Done.". */
const FIRST: { readonly [word: string]: ScriptedTurn } = {
  text: { text: "Hello there." },
  think: { reasoning: "They greet me.", text: "Hello." },
  add: { text: "Adding. ", calls: [{ name: "add", input: { a: 1, b: 2 } }] },
  remove: { text: "Let me see. ", calls: [{ name: "remove", input: { path: "x" } }] },
  deploy: { text: "Let me see. ", calls: [{ name: "deploy", input: {} }] },
  locate: { calls: [{ name: "locate", input: {} }] },
  stall: { text: "Never ends", fault: { kind: "stall", after: 1 } },
  hold: { text: "One moment. ", calls: [{ name: "hold", input: {} }] },
  wait: { text: "Waiting. ", calls: [{ name: "wait", input: {} }] },
};

/** Messages whose answer the model has begun, and promises that let it go on. */
const begun = new Set<string>();
const gates = new Map<string, PromiseWithResolvers<void>>();

/** The gate of a message that begins with `gate`, and of the tools `deploy` and `hold` in a session. */
export function gateOf(key: string): PromiseWithResolvers<void> {
  const gate = gates.get(key) ?? Promise.withResolvers<void>();
  gates.set(key, gate);
  return gate;
}

function answer({ prompt }: ScriptedRequest): ScriptedTurn {
  if (prompt.at(-1)?.role === "tool")
    return { text: JSON.stringify(prompt.at(-1)).includes("Oslo") ? "You are in Oslo." : "Done." };
  const content = JSON.stringify(prompt.findLast(({ role }) => role === "user")?.content);
  const text = /"text":"([^"]*)"/.exec(content)?.[1] ?? "";
  const [word = ""] = text.split(" ");
  if (word === "see") return { text: `I see ${/"mediaType":"([^"]*)"/.exec(content)?.[1] ?? "nothing"}.` };
  if (word === "gate") return { text: "The rest of it.", until: gateOf(text).promise };
  if (word === "kill" && begun.has(text)) return { text: "A whole answer." };
  begun.add(text);
  return word === "kill" ? { text: "Half an answer", fault: { kind: "stall", after: 2 } } : (FIRST[word] ?? {});
}

/** Starts a server on the log: another process, as far as runs are concerned. `ran` has the inputs of its tool calls. */
export async function startScriptedServer(
  log: Log,
  { hosts = [], moreTools = [] }: { readonly hosts?: readonly string[]; readonly moreTools?: readonly Tool[] } = {},
): Promise<LoomServer & { readonly ran: readonly unknown[] }> {
  const { tools, ran } = createTools();
  const deploy = defineTool({
    name: "deploy",
    description: "Deploys.",
    input: z.object({}),
    approval: "always",
    execute: async (_input, { sessionId }) => gateOf(sessionId).promise.then(() => "deployed"),
  });
  const hold = defineTool({
    name: "hold",
    description: "Waits.",
    input: z.object({}),
    execute: async (_input, { sessionId }) => gateOf(sessionId).promise.then(() => "held"),
  });
  const agents = {
    main: agent({ model: new ScriptedModel(answer, { chunk: 4 }), tools: [...tools, deploy, hold, ...moreTools] }),
  };
  const blobs = createMemoryBlobStore(SERVER_LIMITS);
  const server = await startLoomServer({ log, agents, blobs, port: 0, hosts });
  return { ...server, ran };
}
