// Reasoning with the real provider packages: what is requested, what is shown, and that the next turn is valid.
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { agent, type AgentOptions } from "../../src/agents/index.ts";
import { expectValid } from "../contracts/sender.ts";
import { MemoryLog } from "../../src/log/index.ts";
import type { LanguageModel, ModelName } from "../../src/models/index.ts";
import { callModel, resolveModel } from "../../src/models/index.ts";
import { recordListener } from "../contracts/record-listener.ts";
import { createTools } from "../agents/counted-tools.ts";
import { eventsOf, SESSION } from "../agents/agent-fixture.ts";
import { type ProviderServer, startProviderServer } from "./provider-server.ts";
import type { ServerTurn } from "./wire.ts";

let server: ProviderServer;
afterEach(() => server.close());

const RESPONSES = { provider: "openai", model: "gpt-5", api: "responses" };
const ANTHROPIC = { provider: "anthropic", model: "claude-sonnet-4-5" };
const CHAT = { provider: "openai", model: "deepseek-reasoner" };
const LOCAL = { provider: "vllm", model: "qwen3" };

/** The reasoning that each API was asked for. */
const askedFor = (body: ProviderServer["requests"][number]["body"]): unknown =>
  body["reasoning"] ?? body["thinking"] ?? body["reasoning_effort"];

async function open(name: ModelName, turns: readonly ServerTurn[]): Promise<LanguageModel> {
  server = await startProviderServer();
  server.script = [...turns];
  return resolveModel({ ...name, baseURL: server.url, apiKey: server.key });
}

/** Answers two messages, the first with a tool call, and returns what was reasoned. */
async function converse(model: LanguageModel, options: AgentOptions = {}): Promise<string> {
  const log = new MemoryLog();
  const helper = agent({
    model,
    tools: createTools().tools,
    callOptions: { maxRetries: 0 },
    ...options,
  });
  const session = await helper.openSession(log, SESSION);
  for (const message of ["Add", "And?"])
    expect(await (await helper.answer(session, message)).ended).toMatchObject({ status: "completed" });
  await session.close();
  return eventsOf(await expectValid(log, SESSION), "reasoning_chunk")
    .map(({ content }) => content)
    .join("");
}

const TURNS: readonly ServerTurn[] = [
  { reasoning: "Two numbers.", calls: [{ name: "add", input: { a: 1, b: 2 } }] },
  { reasoning: " Three.", text: "3" },
  { reasoning: " Still three.", text: "3, as I said" },
];
const THOUGHTS = "Two numbers. Three. Still three.";

describe("reasoning: auto", () => {
  it("asks OpenAI Responses for summaries, and sends encrypted reasoning back", async () => {
    const model = await open(RESPONSES, TURNS);
    expect(await converse(model)).toBe(THOUGHTS);
    for (const { body } of server.requests)
      expect(body).toMatchObject({
        reasoning: { summary: "auto" },
        store: false,
        include: ["reasoning.encrypted_content"],
      });
    const items = server.requests[1]!.body["input"];
    expect(items).toContainEqual(
      expect.objectContaining({ type: "reasoning", encrypted_content: expect.stringMatching(/^encrypted_/) as string }),
    );
  });

  it("asks Anthropic for thinking, and sends the signature back", async () => {
    const model = await open(ANTHROPIC, TURNS);
    expect(await converse(model)).toBe(THOUGHTS);
    for (const { body } of server.requests) expect(body["thinking"]).toMatchObject({ type: "enabled" });
    expect(JSON.stringify(server.requests[1]!.body["messages"])).toMatch(/"signature":"signature_/);
  });

  it.each([CHAT, LOCAL])("reads reasoning_content of an OpenAI-compatible server as $provider", async (name) => {
    const model = await open(name, TURNS);
    expect(await converse(model)).toBe(THOUGHTS);
    expect(server.requests.map(({ body }) => askedFor(body))).toEqual([undefined, undefined, undefined]);
    // Some servers reject a tool result whose call has lost its reasoning.
    expect(JSON.stringify(server.requests[1]!.body["messages"])).toContain('"reasoning_content":"Two numbers."');
  });

  it.each([CHAT, LOCAL])("reads reasoning of an OpenAI-compatible server as $provider", async (name) => {
    const turns = TURNS.map((turn) => ({ ...turn, reasoningField: "reasoning" }) as const);
    expect(await converse(await open(name, turns))).toBe(THOUGHTS);
  });

  it("does not ask a model that has no reasoning", async () => {
    const turns: ServerTurn[] = [{ text: "Hello" }, { text: "Hello" }];
    await converse(await open({ provider: "anthropic", model: "claude-3-5-haiku-latest" }, turns));
    expect(server.requests.map(({ body }) => askedFor(body))).toEqual([undefined, undefined]);
    await server.close();
    await converse(await open({ ...RESPONSES, model: "gpt-4.1" }, turns));
    expect(server.requests.map(({ body }) => askedFor(body))).toEqual([undefined, undefined]);
  });
});

describe("a provider that refuses", () => {
  const refusal = (message: string): ServerTurn => ({ fault: { kind: "status", status: 400, message } });

  it.each([
    [RESPONSES, "Your organization must be verified to generate reasoning summaries."],
    [ANTHROPIC, "adaptive thinking is not supported on this model"],
    [LOCAL, "Unrecognized request argument supplied: reasoning_effort"],
  ])("is asked again without reasoning, once: $0.provider", async (name, message) => {
    const model = await open(name, [refusal(message), { text: "Hello" }, { text: "Hello again" }]);
    await converse(model, { reasoning: name === LOCAL ? "low" : "auto" });
    const asked = server.requests.map(({ body }) => askedFor(body) !== undefined);
    expect(asked).toEqual([true, false, false]);
  });

  it("is reported, and asked for reasoning again when the refusal expires", async () => {
    const refused = refusal("thinking is not supported on this model");
    const model = await open(ANTHROPIC, [refused, { text: "1" }, { text: "2" }, { text: "3" }]);
    await using helper = agent({ model, callOptions: { refusalMs: 60_000 } });
    const now = vi.spyOn(performance, "now");
    onTestFinished(() => now.mockRestore());
    const since = performance.now();
    const { errors } = await helper.run("Hello");
    expect(errors).toMatchObject([{ code: "model_feature_refused" }]);
    expect(errors[0]?.message).toMatch(
      /^anthropic.+ refused the reasoning level auto; continuing without it for 60 s\. .+ thinking is not supported/,
    );
    now.mockReturnValue(since + 59_000);
    expect((await helper.run("Hello")).errors).toEqual([]);
    now.mockReturnValue(since + 3_600_000);
    expect((await helper.run("Hello")).errors).toEqual([]);
    expect(server.requests.map(({ body }) => askedFor(body) !== undefined)).toEqual([true, false, false, true]);
  });

  it("is asked again by each of the calls that it refuses at the same time", async () => {
    const model = await open(ANTHROPIC, []);
    server.script = ({ body }) =>
      askedFor(body) === undefined ? { text: "Hello" } : refusal("thinking is not supported");
    await using helper = agent({ model, callOptions: { maxRetries: 0 } });
    const results = await Promise.all(["a", "b", "c"].map((message) => helper.run(message)));
    expect(results.map(({ errors }) => errors.map(({ code }) => code))).toEqual(
      Array.from({ length: 3 }, () => ["model_feature_refused"]),
    );
    expect(server.requests).toHaveLength(6);
  });

  it("is asked for reasoning again if it refuses the request without it, too", async () => {
    const refused = refusal("messages.1: a signature of thinking is invalid");
    const model = await open(ANTHROPIC, [refused, refused, { text: "Hello" }]);
    await using helper = agent({ model, callOptions: { maxRetries: 0 } });
    await expect(helper.run("Hello")).rejects.toMatchObject({ code: "model_failed" });
    expect((await helper.run("Hello")).errors).toEqual([]);
    expect(server.requests.map(({ body }) => askedFor(body) !== undefined)).toEqual([true, false, true]);
  });

  it.each([
    [ANTHROPIC, "tools.0.name: too long"],
    [LOCAL, "reasoning_content is not allowed in messages"],
  ])("is not asked again if it refuses something else: %j", async (name, message) => {
    const model = await open(name, [refusal(message)]);
    const helper = agent({ model, callOptions: { maxRetries: 0 } });
    await expect(helper.run("Hello")).rejects.toMatchObject({ code: "model_failed" });
    expect(server.requests).toHaveLength(1);
  });
});

describe("a level", () => {
  const turns: ServerTurn[] = [{ text: "Hello" }, { text: "Hello" }];

  it.each([
    [RESPONSES, "low", { effort: "low", summary: "auto" }],
    [ANTHROPIC, "high", { type: "enabled" }],
    [LOCAL, "medium", "medium"],
    [RESPONSES, "off", { effort: "minimal" }],
    [ANTHROPIC, "off", { type: "disabled" }],
    [LOCAL, "off", "none"],
  ] as const)("is sent in the form of the provider: %j, %s", async (name, reasoning, expected) => {
    await converse(await open(name, turns), { reasoning });
    const asked = askedFor(server.requests[0]!.body);
    if (reasoning === "off") expect(asked).not.toHaveProperty("summary");
    if (typeof expected === "string") expect(asked).toBe(expected);
    else expect(asked).toMatchObject(expected);
  });

  it("does not replace provider options of the caller", async () => {
    const settings = { providerOptions: { openai: { reasoningSummary: "detailed", store: true } } };
    await converse(await open(RESPONSES, turns), { settings });
    expect(server.requests[0]!.body).toMatchObject({ reasoning: { summary: "detailed" }, store: true });
  });

  it("that does not exist is rejected", () => {
    expect(() => agent({ model: "offline", reasoning: "much" as "low" })).toThrow(
      "`reasoning` must be one of auto, off, low, medium, high",
    );
  });
});

it("leaves thinking out where a tool call is forced, which Anthropic rejects", async () => {
  const model = await open(ANTHROPIC, [{ calls: [{ name: "count", input: { n: 3 } }] }]);
  const inputSchema = { type: "object", properties: { n: { type: "number" } } } as const;
  const request = {
    messages: [{ role: "user", content: [{ type: "text", text: "Three" }] }],
    tools: [{ name: "count", description: "Counts", inputSchema }],
    toolChoice: { toolName: "count" },
    settings: { reasoning: "auto" },
  } as const;
  await callModel(model, request, recordListener().listener, { maxRetries: 0 });
  expect(server.requests[0]!.body).toMatchObject({
    tool_choice: { type: expect.stringMatching(/tool|any/) as string },
  });
  expect(server.requests[0]!.body["thinking"]).toBeUndefined();
});
