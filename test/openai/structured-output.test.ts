// Structured output and system prompts with the helpers of the real `openai` client.
import type OpenAI from "openai";
import { zodResponseFormat, zodTextFormat } from "openai/helpers/zod";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { foreignAgent } from "../../src/adapters/foreign-agent.ts";
import { agent } from "../../src/agents/index.ts";
import { ScriptedModel } from "../../src/models/testing.ts";
import { createOpenaiFixture } from "./openai-fixture.ts";

const Trip = z.object({
  city: z.string(),
  stops: z.array(z.object({ name: z.string(), kind: z.enum(["museum", "park"]), email: z.email().nullable() })),
  next: z.union([z.string(), z.number()]),
});
const trip = { city: "Oslo", stops: [{ name: "Munch", kind: "museum", email: null }], next: 2 } as const;
const text = JSON.stringify(trip);
/** Text beside a tool call, a reply that is not JSON, then the value in a code fence. */
const SCRIPT = [
  { text: "Adding.", calls: [{ name: "add", input: { a: 1, b: 2 } }] },
  { text: "The trip goes to Oslo." },
  { text: `\`\`\`json\n${text}\n\`\`\`` },
];
const messages: OpenAI.ChatCompletionMessageParam[] = [
  { role: "system", content: "Plan short trips." },
  { role: "developer", content: "Only in Norway." },
  { role: "user", content: "A trip?" },
];

describe("structured output of Chat Completions", () => {
  it("is parsed by the client", async () => {
    const { client, model } = await createOpenaiFixture(SCRIPT);
    const response_format = zodResponseFormat(Trip, "trip");
    const answer = await client.chat.completions.parse({ model: "main", messages, response_format });
    expect(answer.choices[0]?.message.parsed).toEqual(trip);
    expect(JSON.stringify(model.prompts[0]?.[0])).toContain("museum");
  });

  it("is parsed from a stream", async () => {
    const { client } = await createOpenaiFixture(SCRIPT);
    const response_format = zodResponseFormat(Trip, "trip");
    const stream = client.chat.completions.stream({ model: "main", messages, response_format });
    const answer = await stream.finalChatCompletion();
    expect(answer.choices[0]?.message.parsed).toEqual(trip);
    expect(answer.choices[0]?.message.content).toBe(text);
  });

  it("can be any JSON object", async () => {
    const { client } = await createOpenaiFixture([{ text: "[1]" }, { text: '{"a": 1}' }]);
    const response_format = { type: "json_object" } as const;
    const { choices } = await client.chat.completions.create({ model: "main", messages, response_format });
    expect(choices[0]?.message.content).toBe('{"a":1}');
  });

  it("fails if the model does not return it", async () => {
    const { client } = await createOpenaiFixture([{ text: "Oslo" }, { text: "{}" }]);
    const response_format = zodResponseFormat(Trip, "trip");
    await expect(client.chat.completions.parse({ model: "main", messages, response_format })).rejects.toMatchObject({
      code: "model_output_invalid",
    });
  });

  it.each([
    { type: "grammar" },
    { type: "json_schema" },
    { type: "json_schema", json_schema: { name: "x", schema: { uniqueItems: true } } },
  ])("is refused in the form %j", async (response_format) => {
    const { client, model } = await createOpenaiFixture([]);
    const body = { model: "main", messages, response_format } as unknown as OpenAI.ChatCompletionCreateParams;
    await expect(client.chat.completions.create(body)).rejects.toMatchObject({ status: 400 });
    expect(model.requests).toEqual([]);
  });
});

describe("structured output of Responses", () => {
  it("is parsed by the client", async () => {
    const { client } = await createOpenaiFixture(SCRIPT);
    const answer = await client.responses.parse({
      model: "main",
      input: "A trip?",
      text: { format: zodTextFormat(Trip, "trip") },
    });
    expect(answer.output_parsed).toEqual(trip);
    expect(answer.output_text).toBe(text);
  });

  it("is parsed from a stream", async () => {
    const { client } = await createOpenaiFixture(SCRIPT);
    const format = zodTextFormat(Trip, "trip");
    const stream = client.responses.stream({ model: "main", input: "A trip?", text: { format } });
    expect((await stream.finalResponse()).output_parsed).toEqual(trip);
  });
});

describe("structured output that cannot be given", () => {
  const schemaOf = { type: "object", properties: { city: { type: "string" } } };
  const main = agent({ model: new ScriptedModel([]) });
  const agents = {
    main,
    tot: agent({ kind: "tot", model: new ScriptedModel([]) }),
    got: agent({ kind: "got", model: new ScriptedModel([]) }),
    foreign: foreignAgent(() => Promise.reject(new Error("It is not started"))),
  };

  it.each([
    ["tot", schemaOf],
    ["got", schemaOf],
    ["foreign", schemaOf],
    ["main", { uniqueItems: true }],
    ["main", { type: "object", description: "x".repeat(40_000) }],
  ] as const)("is refused by its field before anything is stored: %s", async (model, schema) => {
    const { client, log } = await createOpenaiFixture([], { agents });
    const refusal = { status: 400, type: "invalid_request_error" };
    const format = { type: "json_schema", name: "trip", schema } as const;
    await expect(client.responses.create({ model, input: "A trip?", text: { format } })).rejects.toMatchObject({
      ...refusal,
      param: "text.format",
    });
    const response_format = { type: "json_schema", json_schema: { name: "trip", schema } } as const;
    await expect(client.chat.completions.create({ model, messages, response_format })).rejects.toMatchObject({
      ...refusal,
      param: "response_format",
    });
    expect(await log.listSessions()).toEqual([]);
  });
});

describe("system prompts", () => {
  it.each(["chat", "responses"])("are instructions of the run, not part of the message: %s", async (api) => {
    const { client, model, log } = await createOpenaiFixture([{ text: "Oslo." }, { text: "Bergen." }]);
    const ask = async (previous?: string): Promise<string> => {
      if (api === "responses") {
        const input = [
          { role: "developer", content: "Only in Norway." },
          { role: "user", content: "A trip?" },
        ] as const;
        const more =
          previous === undefined ? { instructions: "Plan short trips." } : { previous_response_id: previous };
        return (
          await client.responses.create({ model: "main", input: input.slice(previous === undefined ? 0 : 1), ...more })
        ).id;
      }
      const headers = { "loom-session": "s" };
      await client.chat.completions.create(
        { model: "main", messages: previous === undefined ? messages : messages.slice(2) },
        { headers },
      );
      return "again";
    };
    const first = await ask();
    expect(model.prompts[0]?.map(({ role }) => role)).toEqual(["system", "user"]);
    expect(model.prompts[0]?.[0]?.content).toBe("Plan short trips.\n\nOnly in Norway.");
    const [session] = await log.listSessions();
    const { texts } = await log.read(session?.sessionId ?? "", { after: 0, limit: 1 });
    expect(JSON.parse(texts[0] ?? "")).toMatchObject({
      message: "A trip?",
      instructions: "Plan short trips.\n\nOnly in Norway.",
    });
    await ask(first);
    expect(JSON.stringify(model.prompts[1])).not.toContain("Norway");
  });
});
