// Structured output with the real provider packages: the form of the schema on the wire, and a provider that rejects it.
import { afterEach, expect, it, onTestFinished, vi } from "vitest";
import { agent, type RunResult } from "../../src/agents/index.ts";
import { type LanguageModel, type ModelName, resolveModel } from "../../src/models/index.ts";
import type { Json, JsonObject } from "../../src/protocol/index.ts";
import { isJsonObject } from "../../src/protocol/json.ts";
import { type ProviderServer, startProviderServer } from "./provider-server.ts";

let server: ProviderServer;
afterEach(() => server.close());

type Body = { readonly [name: string]: JsonObject | undefined };

/** The schema of a request in the form of each API, and what marks it as strict. */
const WIRES: readonly (readonly [name: ModelName, read: (body: Body) => JsonObject | undefined, isStrict: boolean])[] =
  [
    [
      { provider: "openai", model: "gpt-5", api: "responses" },
      (body) => body["text"]?.["format"] as JsonObject | undefined,
      true,
    ],
    [
      { provider: "openai", model: "gpt-oss" },
      (body) => body["response_format"]?.["json_schema"] as JsonObject | undefined,
      true,
    ],
    [
      { provider: "vllm", model: "qwen3" },
      (body) => body["response_format"]?.["json_schema"] as JsonObject | undefined,
      true,
    ],
    [
      { provider: "ollama", model: "qwen3" },
      (body) => body["response_format"]?.["json_schema"] as JsonObject | undefined,
      true,
    ],
    [
      { provider: "anthropic", model: "claude-sonnet-4-5" },
      (body) => body["output_config"]?.["format"] as JsonObject | undefined,
      false,
    ],
  ];

const PLAN = {
  why: "two parts",
  nodes: [
    { id: "a", task: "do a", needs: [], operation: "generate" },
    { id: "b", task: "do b", needs: [], operation: "generate" },
    { id: "best", task: "choose", needs: ["a", "b"], operation: "score" },
  ],
};

/** Answers by the last sentence of the prompt, with and without a schema. */
function answerFor(body: object): string {
  const asked = JSON.stringify(body);
  if (asked.includes("possible next steps")) return '{"steps": ["one", "two"]}';
  if (asked.includes("Judge how promising")) return '{"why": "good", "score": 0.8, "solved": true}';
  if (asked.includes("Rate each of the results")) return '{"why": "b", "scores": {"a": 0.1, "b": 0.9}}';
  return asked.includes("Split the work") ? JSON.stringify(PLAN) : "Done.";
}

/** Lists the objects of a schema, its own included. */
function listObjects(schema: Json | undefined): readonly JsonObject[] {
  if (Array.isArray(schema)) return (schema as readonly Json[]).flatMap(listObjects);
  if (!isJsonObject(schema)) return [];
  const inner = Object.values(schema).flatMap(listObjects);
  return schema["type"] === "object" ? [schema, ...inner] : inner;
}

async function run(name: ModelName, kind: "tot" | "got"): Promise<string> {
  const model = await resolveModel({ ...name, baseURL: server.url, apiKey: server.key });
  return (await ask(model, kind)).reply;
}

async function ask(model: LanguageModel, kind: "tot" | "got"): Promise<RunResult> {
  await using helper = agent({ kind, model, callOptions: { maxRetries: 0 } });
  return await helper.run("Which way?");
}

it.each(WIRES)("$provider/$model receives strict schemas", async (name, read, isStrict) => {
  server = await startProviderServer();
  server.script = ({ body }) => ({ text: answerFor(body) });
  expect(await run(name, "tot")).toBe("Done.");
  expect(await run(name, "got")).toBe("Done.");
  const formats = server.requests.map(({ body }) => read(body as Body)).filter((format) => format !== undefined);
  // One call for the steps and one per step; a plan, and the scores of its results.
  expect(formats).toHaveLength(5);
  for (const format of formats) {
    if (isStrict) expect(format["strict"]).toBe(true);
    const objects = listObjects(format["schema"]);
    expect(objects).not.toHaveLength(0);
    for (const { properties, required, additionalProperties } of objects) {
      expect(additionalProperties).toBe(false);
      expect(required).toEqual(Object.keys(properties as JsonObject));
    }
  }
});

it.each(WIRES)("$provider/$model is asked again without a schema that it rejects", async (name, read) => {
  server = await startProviderServer();
  server.script = ({ body }) =>
    read(body as Body) === undefined
      ? { text: answerFor(body) }
      : { fault: { kind: "status", status: 400, message: "This response format is unavailable" } };
  expect(await run(name, "tot")).toBe("Done.");
  const formats = server.requests.map(({ body }) => read(body as Body) !== undefined);
  expect(formats).toEqual([true, false, false, false, false]);
});

it("reports a schema that the provider rejects, and sends schemas again when the refusal expires", async () => {
  server = await startProviderServer();
  const [name, read] = WIRES[2]!;
  let isRejected = true;
  server.script = ({ body }) =>
    read(body as Body) === undefined || !isRejected
      ? { text: answerFor(body) }
      : { fault: { kind: "status", status: 400, message: "This response format is unavailable" } };
  const model = await resolveModel({ ...name, baseURL: server.url, apiKey: server.key });
  const { errors } = await ask(model, "tot");
  expect(errors).toMatchObject([{ code: "model_feature_refused" }]);
  expect(errors[0]?.message).toMatch(/^vllm.+ refused structured output; continuing without it for 600 s\. /);
  isRejected = false;
  const now = vi.spyOn(performance, "now").mockReturnValue(performance.now() + 601_000);
  onTestFinished(() => now.mockRestore());
  server.requests.length = 0;
  expect((await ask(model, "tot")).errors).toEqual([]);
  expect(server.requests.map(({ body }) => read(body as Body) !== undefined)).toEqual([true, true, true, false]);
});
