// Failures of the model's provider reach OpenAI clients as the errors that the provider itself would send them.
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import type { ScriptedTurn } from "../../src/models/scripted-model.ts";
import { collect, createOpenaiFixture } from "./openai-fixture.ts";

const MESSAGES = [{ role: "user" as const, content: "Hi" }];

/** An error as the packages of the AI SDK throw it for a response with this status. */
function refuse(status: number, responseHeaders: Readonly<Record<string, string>> = {}): ScriptedTurn {
  const error = Object.assign(new Error("The provider said no"), {
    name: "AI_APICallError",
    statusCode: status,
    responseHeaders,
    isRetryable: false,
  });
  return { fault: { kind: "throw", error } };
}

/** What a client sends, with and without a stream. */
const SENDS: { readonly [name: string]: (client: OpenAI) => Promise<unknown> } = {
  "a chat completion": (client) => client.chat.completions.create({ model: "main", messages: MESSAGES }),
  "a stream of chat completions": (client) =>
    client.chat.completions.create({ model: "main", messages: MESSAGES, stream: true }),
  "a response": (client) => client.responses.create({ model: "main", input: "Hi" }),
  "a stream of responses": (client) => client.responses.create({ model: "main", input: "Hi", stream: true }),
};

describe.each(Object.entries(SENDS))("%s", (_name, send) => {
  it.each([
    [429, OpenAI.RateLimitError, { code: "rate_limit_exceeded", type: "rate_limit_error" }],
    [401, OpenAI.AuthenticationError, { code: "model_unauthorized", type: "authentication_error" }],
    [400, OpenAI.BadRequestError, { code: "model_failed", type: "invalid_request_error" }],
    [404, OpenAI.NotFoundError, { code: "model_not_found", type: "invalid_request_error" }],
    [500, OpenAI.InternalServerError, { code: "model_unavailable", type: "server_error" }],
  ] as const)("fails with the error of status %i, and is not repeated", async (status, Kind, about) => {
    const { client, log, model } = await createOpenaiFixture([refuse(status, { "retry-after": "20" })]);
    const error = await send(client.withOptions({ maxRetries: 2 })).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Kind);
    expect(error).toMatchObject(about);
    const { message, headers } = error as InstanceType<typeof Kind>;
    expect(message).toContain("The provider said no");
    expect(message.includes("API key of the model provider")).toBe(status === 401);
    if (status === 429) expect(headers.get("retry-after")).toBe("20");
    expect(model.requests).toHaveLength(1);
    const [session, ...others] = await log.listSessions();
    expect(others).toEqual([]);
    expect(headers.get("loom-session")).toBe(session?.sessionId);
    expect(await log.listRuns(session?.sessionId ?? "")).toMatchObject([{ status: "error" }]);
  });
});

describe("a stream that has begun", () => {
  const script = [{ text: "Let me see.", calls: [{ name: "add", input: { a: 1, b: 2 } }] }, refuse(429)];

  it("of chat completions fails with the error object of the provider", async () => {
    const { client } = await createOpenaiFixture(script);
    const stream = await client.chat.completions.create({ model: "main", messages: MESSAGES, stream: true });
    await expect(collect(stream)).rejects.toMatchObject({ code: "rate_limit_exceeded", type: "rate_limit_error" });
  });

  it("of chat completions says that the provider refused the request", async () => {
    const { client } = await createOpenaiFixture([...script.slice(0, 1), refuse(400)]);
    const stream = await client.chat.completions.create({ model: "main", messages: MESSAGES, stream: true });
    await expect(collect(stream)).rejects.toMatchObject({ code: "model_failed", type: "invalid_request_error" });
  });

  it("of a response ends with a failed response, which can be read again", async () => {
    const { client } = await createOpenaiFixture(script);
    const events = await collect(await client.responses.create({ model: "main", input: "Hi", stream: true }));
    const last = events.at(-1);
    const failed = { status: "failed", error: { code: "rate_limit_exceeded" } };
    expect(last).toMatchObject({ type: "response.failed", response: failed });
    const { id } = (last as Extract<typeof last, { type: "response.failed" }>).response;
    expect(await client.responses.retrieve(id)).toMatchObject(failed);
  });

  it("does not refuse a response that has output", async () => {
    const { client } = await createOpenaiFixture(script);
    const response = await client.responses.create({ model: "main", input: "Hi" });
    expect(response).toMatchObject({ status: "failed", error: { code: "rate_limit_exceeded" } });
    expect(response.output.map(({ type }) => type)).toEqual(["message", "mcp_call"]);
  });
});

it("begins before the model answers if the response runs in the background", async () => {
  const gate = Promise.withResolvers<void>();
  const { client } = await createOpenaiFixture([{ text: "Hello.", until: gate.promise }]);
  const stream = await client.responses.create({ model: "main", input: "Hi", stream: true, background: true });
  const events: string[] = [];
  for await (const { type } of stream) {
    events.push(type);
    gate.resolve();
  }
  expect(events.at(-1)).toBe("response.completed");
});

it("cancels the run if the client asked for it and disconnects before the model answers", async () => {
  const { client, log, model } = await createOpenaiFixture([{ text: "Hello.", until: new Promise(() => undefined) }]);
  const left = new AbortController();
  const options = { signal: left.signal, query: { on_disconnect: "cancel" } };
  const sent = client.chat.completions.create({ model: "main", messages: MESSAGES, stream: true }, options);
  await expect.poll(() => model.requests).toHaveLength(1);
  left.abort();
  await expect(sent).rejects.toBeInstanceOf(OpenAI.APIUserAbortError);
  const [session] = await log.listSessions();
  await expect.poll(() => log.listRuns(session?.sessionId ?? "")).toMatchObject([{ status: "cancelled" }]);
});
