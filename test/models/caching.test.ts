// Prompt caching with the real provider packages: which parts of a request are marked on the wire.
import { afterEach, expect, it } from "vitest";
import { agent } from "../../src/agents/index.ts";
import { type ModelName, resolveModel } from "../../src/models/index.ts";
import type { Json, JsonObject } from "../../src/protocol/index.ts";
import { createTools } from "../agents/counted-tools.ts";
import { type ProviderServer, startProviderServer } from "./provider-server.ts";

let server: ProviderServer;
afterEach(() => server.close());

async function converse(name: ModelName, caching?: boolean): Promise<readonly JsonObject[]> {
  server = await startProviderServer();
  server.script = [{ calls: [{ name: "add", input: { a: 1, b: 2 } }] }, { text: "3" }, { text: "Yes" }];
  const model = await resolveModel({ ...name, baseURL: server.url, apiKey: server.key });
  const options = { systemInstructions: "Be brief.", tools: createTools().tools, reasoning: "off" } as const;
  await using helper = agent({ model, ...options, ...(caching === undefined ? {} : { caching }) });
  await helper.run("Add", { sessionId: "chat-1" });
  await helper.run("Sure?", { sessionId: "chat-1" });
  return server.requests.map(({ body }) => body);
}

/** Indexes of the marked items. */
function listMarked(items: Json | undefined): readonly number[] {
  return (items as Json[]).flatMap((item, index) => (JSON.stringify(item).includes("cache_control") ? [index] : []));
}

it("marks the tools, the system prompt and the messages before the newest one for Anthropic", async () => {
  const bodies = await converse({ provider: "anthropic", model: "claude-sonnet-4-5" });
  expect(bodies).toHaveLength(3);
  for (const { system, tools } of bodies) {
    expect(listMarked(system)).toEqual([0]);
    expect(listMarked(tools)).toEqual([(tools as Json[]).length - 1]);
  }
  // The messages of each request: the question; question, call, result; the first turn and the second question.
  expect(bodies.map(({ messages }) => listMarked(messages))).toEqual([[], [1], [3]]);
});

it.each<[string, ModelName, boolean | undefined]>([
  ["turned off", { provider: "anthropic", model: "claude-sonnet-4-5" }, false],
  ["not needed by the provider", { provider: "openai", model: "gpt-4.1" }, undefined],
])("marks nothing if it is %s", async (_, name, caching) => {
  const bodies = await converse(name, caching);
  expect(bodies).toHaveLength(3);
  expect(JSON.stringify(bodies)).not.toMatch(/cache_?control|caching/i);
});
