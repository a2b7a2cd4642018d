// The real `openai` client with the Chat Completions endpoint.
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { collect, createOpenaiFixture } from "./openai-fixture.ts";

const LOCATE = {
  type: "function",
  function: {
    name: "locate",
    description: "Finds the user",
    parameters: { type: "object", properties: { precise: { type: "boolean" } } },
  },
} as const;

describe("chat completions", () => {
  it("separates the reasoning of two model calls by a blank line", async () => {
    const turns = [
      { reasoning: "I add.", calls: [{ name: "add", input: { a: 1, b: 2 } }] },
      { reasoning: "It is odd.", text: "It is 3." },
    ];
    const { client } = await createOpenaiFixture([...turns, ...turns]);
    const messages = [{ role: "user", content: "1 + 2?" }] as const;
    const { choices } = await client.chat.completions.create({ model: "main", messages: [...messages] });
    expect(choices[0]?.message).toMatchObject({ reasoning_content: "I add.\n\nIt is odd.", content: "It is 3." });
    const stream = await client.chat.completions.create({ model: "main", messages: [...messages], stream: true });
    const chunks = await collect(stream);
    const deltas = chunks.map((chunk) => (chunk.choices[0]?.delta ?? {}) as { readonly reasoning_content?: string });
    expect(deltas.map(({ reasoning_content = "" }) => reasoning_content).join("")).toBe("I add.\n\nIt is odd.");
  });

  it("lists the agents as models", async () => {
    const { client } = await createOpenaiFixture([]);
    const models = await collect(client.models.list());
    expect(models).toEqual([{ id: "main", object: "model", created: 0, owned_by: "loom" }]);
    expect(await client.models.retrieve("main")).toMatchObject({ id: "main" });
    await expect(client.models.retrieve("gpt-9")).rejects.toMatchObject({ status: 404, code: "model_not_found" });
  });

  it("answers, with reasoning and tools of the server", async () => {
    const { client, ran } = await createOpenaiFixture([
      { reasoning: "I add.", calls: [{ name: "add", input: { a: 1, b: 2 } }] },
      { text: "It is 3." },
    ]);
    const answer = await client.chat.completions.create({
      model: "main",
      messages: [{ role: "user", content: "1 + 2?" }],
    });
    expect(ran).toEqual([["add", { a: 1, b: 2 }]]);
    expect(answer).toMatchObject({
      object: "chat.completion",
      model: "main",
      choices: [{ message: { role: "assistant", content: "It is 3." }, finish_reason: "stop" }],
      usage: { total_tokens: expect.any(Number) as number },
    });
    expect(answer.choices[0]?.message).toMatchObject({ reasoning_content: "I add." });
  });

  it("streams to clients that read the first choice of every chunk, and sends the usage only on request", async () => {
    const { client } = await createOpenaiFixture([{ text: "Hello you" }, { text: "Again" }]);
    const messages = [{ role: "user", content: "Hi" }] as const;
    const stream = await client.chat.completions.create({ model: "main", messages: [...messages], stream: true });
    let text = "";
    for await (const chunk of stream) text += (chunk.choices[0] as (typeof chunk.choices)[0]).delta.content ?? "";
    expect(text).toBe("Hello you");
    const helper = client.chat.completions.stream({
      model: "main",
      messages: [...messages],
      stream_options: { include_usage: true },
    });
    const final = await helper.finalChatCompletion();
    expect(final.choices[0]?.message.content).toBe("Again");
    expect(final.usage?.total_tokens).toBeGreaterThan(0);
  });

  it("takes the conversation as the history of a new session, and instructions with the message", async () => {
    const { client, model, log } = await createOpenaiFixture([{ text: "Bob." }, { text: "Still Bob." }]);
    const messages = [
      { role: "system", content: "Be short." },
      { role: "user", content: "I am Bob." },
      { role: "assistant", content: "Hello Bob." },
      { role: "user", content: "Who am I?" },
    ] as const;
    await client.chat.completions.create({ model: "main", messages: [...messages] });
    const prompt = JSON.stringify(model.prompts[0]);
    for (const text of ["I am Bob.", "Hello Bob.", "Who am I?", "Be short."]) expect(prompt).toContain(text);
    expect(await log.listSessions()).toHaveLength(1);
    await client.chat.completions.create({ model: "main", messages: [...messages] });
    expect(await log.listSessions()).toHaveLength(2);
  });

  it("continues a session that the client names, which has the history", async () => {
    const { client, model, log } = await createOpenaiFixture([{ text: "One." }, { text: "Two." }, { text: "Three." }]);
    const ask = (content: string, options?: object, metadata?: Record<string, string>) =>
      client.chat.completions.create(
        { model: "main", messages: [{ role: "user", content }], ...(metadata === undefined ? {} : { metadata }) },
        options,
      );
    await ask("First", { headers: { "loom-session": "mine%201" } });
    await ask("Second", { headers: { "loom-session": "mine%201" } });
    expect(JSON.stringify(model.prompts[1])).toContain("First");
    await ask("Third", undefined, { session_id: "mine 1" });
    expect((await log.listRuns("mine 1")).length).toBe(3);
  });

  it("forks a named session before the run that the client's conversation lacks", async () => {
    const { client, log, model } = await createOpenaiFixture(
      ["One.", "Two.", "Two again.", "Three."].map((text) => ({ text })),
    );
    const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "system", content: "Be short." }];
    const ask = async (content: string) => {
      const options = { headers: { "loom-session": "talk" } };
      const asked = [...messages, { role: "user" as const, content }];
      const { choices } = await client.chat.completions.create({ model: "main", messages: asked }, options);
      return choices[0]?.message.content ?? "";
    };
    messages.push({ role: "user", content: "First" }, { role: "assistant", content: await ask("First") });
    expect(await ask("Second")).toBe("Two.");
    // The client has edited its second message.
    const edited = await ask("Second, edited");
    expect(edited).toBe("Two again.");
    const [fork, original, ...others] = await log.listSessions();
    expect(others).toEqual([]);
    expect(original?.sessionId).toBe("talk");
    expect(fork?.forkedFrom).toMatchObject({ sessionId: "talk" });
    expect(await log.listRuns("talk")).toHaveLength(2);
    // It goes on in the newest version.
    messages.push({ role: "user", content: "Second, edited" }, { role: "assistant", content: edited });
    expect(await ask("Third")).toBe("Three.");
    expect(await log.listSessions()).toHaveLength(2);
    const prompt = JSON.stringify(model.prompts[3]);
    for (const text of ["First", "Second, edited", "Third"]) expect(prompt).toContain(text);
  });

  it("forks a named session also if the client has shortened a message", async () => {
    const { client, log } = await createOpenaiFixture(["One.", "Two."].map((text) => ({ text })));
    const ask = (...messages: OpenAI.ChatCompletionMessageParam[]) =>
      client.chat.completions.create({ model: "main", messages }, { headers: { "loom-session": "talk" } });
    await ask({ role: "user", content: "First, and more" });
    await ask(
      { role: "user", content: "First" },
      { role: "assistant", content: "One." },
      { role: "user", content: "Second" },
    );
    expect(await log.listSessions()).toHaveLength(2);
    expect(await log.listRuns("talk")).toHaveLength(1);
  });

  it("repeats a request with the same key without a second run", async () => {
    const { client, log, model } = await createOpenaiFixture([{ text: "Once." }]);
    const ask = () =>
      client.chat.completions.create(
        { model: "main", messages: [{ role: "user", content: "Hi" }] },
        { headers: { "idempotency-key": "k1" } },
      );
    const [first, second] = [await ask(), await ask()];
    expect(second).toEqual(first);
    expect(model.requests).toHaveLength(1);
    expect(await log.listSessions()).toHaveLength(1);
  });

  it("lets the client carry out its functions, and goes on with the results", async () => {
    const { client, model, log } = await createOpenaiFixture([
      {
        text: "One moment.",
        calls: [
          { name: "locate", input: { precise: true } },
          { name: "locate", input: {} },
        ],
      },
      { text: "You are in Oslo." },
    ]);
    const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: "Where am I?" }];
    const stream = client.chat.completions.stream({ model: "main", messages, tools: [LOCATE] });
    const first = await stream.finalChatCompletion();
    const [choice] = first.choices;
    expect(choice?.finish_reason).toBe("tool_calls");
    const calls = choice?.message.tool_calls as OpenAI.ChatCompletionMessageFunctionToolCall[];
    expect(calls.map(({ function: { name, arguments: args } }) => [name, args])).toEqual([
      ["locate", '{"precise":true}'],
      ["locate", "{}"],
    ]);
    messages.push(choice?.message as OpenAI.ChatCompletionMessageParam);
    for (const { id } of calls) messages.push({ role: "tool", tool_call_id: id, content: "Oslo" });
    const second = await client.chat.completions.create({ model: "main", messages, tools: [LOCATE] });
    expect(second.choices[0]).toMatchObject({ message: { content: "You are in Oslo." }, finish_reason: "stop" });
    expect(JSON.stringify(model.prompts[1])).toContain("Oslo");
    // A retry finds the same message.
    expect(await client.chat.completions.create({ model: "main", messages, tools: [LOCATE] })).toEqual(second);
    expect(model.requests).toHaveLength(2);
    expect(await log.listSessions()).toHaveLength(1);
  });

  it("takes results that no run waits for as history", async () => {
    const { client, model } = await createOpenaiFixture([{ text: "You are in Oslo." }]);
    const answer = await client.chat.completions.create({
      model: "main",
      messages: [
        { role: "user", content: "Where am I?" },
        {
          role: "assistant",
          tool_calls: [{ id: "call_1", type: "function", function: { name: "locate", arguments: "{}" } }],
        },
        { role: "tool", tool_call_id: "call_1", content: "Oslo" },
      ],
    });
    expect(answer.choices[0]?.message.content).toBe("You are in Oslo.");
    expect(JSON.stringify(model.prompts[0])).toContain("Oslo");
  });

  it("runs functions with the client's own loop", async () => {
    const { client } = await createOpenaiFixture([
      { calls: [{ name: "locate", input: {} }] },
      { text: "You are in Oslo." },
    ]);
    const runner = client.chat.completions.runTools({
      model: "main",
      messages: [{ role: "user", content: "Where am I?" }],
      tools: [
        {
          type: "function",
          function: { ...LOCATE.function, parse: JSON.parse, function: () => Promise.resolve("Oslo") },
        } as never,
      ],
    });
    expect(await runner.finalContent()).toBe("You are in Oslo.");
  });

  it("sends errors that the client reads as its own", async () => {
    const { client } = await createOpenaiFixture([
      { fault: { kind: "throw", error: new Error("The model is down") } },
      { text: "Half", fault: { kind: "throw", error: new Error("The model is down") } },
    ]);
    const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: "Hi" }];
    const create = (more: object) => client.chat.completions.create({ model: "main", messages, ...more } as never);
    await expect(create({ model: "gpt-9" })).rejects.toBeInstanceOf(OpenAI.NotFoundError);
    await expect(create({ messages: [] })).rejects.toMatchObject({ status: 400, type: "invalid_request_error" });
    await expect(create({ response_format: { type: "grammar" } })).rejects.toMatchObject({
      status: 400,
      code: "invalid_request",
      param: "response_format",
    });
    await expect(create({ n: 2 })).rejects.toMatchObject({ param: "n" });
    await expect(create({ tools: [{ type: "web_search" }] })).rejects.toMatchObject({ param: "tools[0].type" });
    await expect(create({ tools: [LOCATE], tool_choice: "required" })).rejects.toMatchObject({ param: "tool_choice" });
    await expect(
      create({ messages: [{ role: "user", content: [{ type: "input_audio", input_audio: {} }] }] }),
    ).rejects.toMatchObject({ param: "messages[0].content[0].type" });
    await expect(create({})).rejects.toBeInstanceOf(OpenAI.InternalServerError);
    const stream = (await create({ stream: true })) as unknown as AsyncIterable<unknown>;
    await expect(collect(stream)).rejects.toBeInstanceOf(OpenAI.APIError);
  });
});
