// The real `openai` client with the Responses endpoint.
import OpenAI from "openai";
import type { Response as OpenaiResponse, ResponseStreamEvent } from "openai/resources/responses/responses";
import { describe, expect, it } from "vitest";
import { collect, createOpenaiFixture } from "./openai-fixture.ts";

const LOCATE = {
  type: "function",
  name: "locate",
  description: "Finds the user",
  parameters: { type: "object", properties: {} },
  strict: false,
} as const;

/** The response that a stream of events ended with. */
function lastResponse(events: readonly ResponseStreamEvent[]): OpenaiResponse {
  const last = events.at(-1);
  if (last === undefined || !("response" in last)) throw new Error("The stream has no end");
  return last.response;
}

describe("responses", () => {
  it("answers, with reasoning and tools of the server, and keeps the response", async () => {
    const { client } = await createOpenaiFixture([
      { reasoning: "I add.", calls: [{ name: "add", input: { a: 1, b: 2 } }] },
      { text: "It is 3." },
    ]);
    const response = await client.responses.create({ model: "main", input: "1 + 2?", metadata: { user: "u1" } });
    expect(response).toMatchObject({
      status: "completed",
      model: "main",
      output_text: "It is 3.",
      metadata: { user: "u1" },
    });
    expect(response.output.map(({ type }) => type)).toEqual(["reasoning", "mcp_call", "message"]);
    expect(response.output[1]).toMatchObject({ name: "add", arguments: '{"a":1,"b":2}', output: "3" });
    expect(response.usage?.total_tokens).toBeGreaterThan(0);
    expect(await client.responses.retrieve(response.id)).toEqual(response);
    const items = await collect(client.responses.inputItems.list(response.id));
    expect(items).toMatchObject([{ role: "user", content: [{ type: "input_text", text: "1 + 2?" }] }]);
  });

  it("repeats the request in the response, however it is read", async () => {
    const gate = Promise.withResolvers<void>();
    const { client, log } = await createOpenaiFixture([
      { text: '{"city":"Oslo"}', until: gate.promise },
      { text: '{"city":"Bergen"}' },
      { text: "Oslo." },
    ]);
    const format = {
      type: "json_schema",
      name: "trip",
      strict: true,
      schema: { type: "object", properties: { city: { type: "string" } } },
    } as const;
    const request = {
      model: "main",
      instructions: "Plan short trips.",
      text: { format, verbosity: "low" },
      tools: [
        { ...LOCATE, strict: true },
        { ...LOCATE, name: "locate_car" },
      ],
      metadata: { user: "u1" },
      conversation: "talk",
      reasoning: { effort: "low" },
    } as const;
    const input = [
      { role: "developer", content: "Only in Norway." },
      { role: "user", content: "A trip?" },
    ] as const;
    const given = { ...request, tools: [...request.tools], input: [...input] };
    const { model, instructions, text, tools, metadata, reasoning } = given;
    const expected = { model, instructions, text, tools, metadata, reasoning, conversation: { id: "talk" } };
    const first = await client.responses.create({ ...given, background: true });
    const second = await client.responses.create({ ...given, background: true });
    expect(second.status).toBe("queued");
    for (const response of [first, second]) expect(response).toMatchObject({ ...expected, background: true });
    gate.resolve();
    const events = await collect(await client.responses.retrieve(second.id, { stream: true }));
    const ended = await client.responses.retrieve(second.id);
    expect(ended).toMatchObject({ ...expected, status: "completed", tool_choice: "auto" });
    expect({ ...lastResponse(events), output_text: ended.output_text }).toEqual(ended);
    const [created] = events;
    expect(created).toMatchObject({ response: expected });
    const plain = await client.responses.create({ model: "main", input: "Hi", tool_choice: "none", tools: [LOCATE] });
    expect(plain).toMatchObject({
      instructions: null,
      text: { format: { type: "text" } },
      tools: [],
      tool_choice: "none",
      previous_response_id: null,
    });
    expect(await log.listSessions()).toHaveLength(2);
  });

  it("streams to the helper, and any part of the stream again", async () => {
    const { client } = await createOpenaiFixture([{ text: "Hello you" }]);
    const helper = client.responses.stream({ model: "main", input: "Hi" });
    const sent: ResponseStreamEvent[] = [];
    helper.on("event", (event) => void sent.push(event));
    const final = await helper.finalResponse();
    expect(final.output_text).toBe("Hello you");
    for (const starting_after of [0, 3, sent.length - 2]) {
      const events = await collect(await client.responses.retrieve(final.id, { stream: true, starting_after }));
      expect(events.map(({ sequence_number }) => sequence_number)).toEqual(
        sent.slice(starting_after + 1).map(({ sequence_number }) => sequence_number),
      );
    }
    const again = await client.responses.stream({ response_id: final.id }).finalResponse();
    expect(again.output).toEqual(final.output);
    const nothing = await client.responses.retrieve(final.id, { stream: true, starting_after: sent.length - 1 });
    expect(await collect(nothing)).toEqual([]);
  });

  it("continues with the response before, or with a conversation", async () => {
    const { client, model, log } = await createOpenaiFixture([
      { text: "Hello Bob." },
      { text: "Bob." },
      { text: "Yes." },
    ]);
    const first = await client.responses.create({ model: "main", input: "I am Bob.", conversation: "talk" });
    const second = await client.responses.create({
      model: "main",
      input: [{ role: "user", content: [{ type: "input_text", text: "Who am I?" }] }],
      instructions: "Be short.",
      previous_response_id: first.id,
    });
    expect(second.previous_response_id).toBe(first.id);
    const prompt = JSON.stringify(model.prompts[1]);
    for (const text of ["I am Bob.", "Hello Bob.", "Who am I?", "Be short."]) expect(prompt).toContain(text);
    await client.responses.create({ model: "main", input: "Sure?", conversation: { id: "talk" } });
    expect((await log.listRuns("talk")).length).toBe(3);
  });

  it("forks the session if the response before has a successor", async () => {
    const { client, model, log } = await createOpenaiFixture([{ text: "One." }, { text: "Two." }, { text: "Other." }]);
    const first = await client.responses.create({ model: "main", input: "First", conversation: "talk" });
    const next = { model: "main", previous_response_id: first.id };
    await client.responses.create({ ...next, input: "Second" }, { headers: { "idempotency-key": "k2" } });
    const other = await client.responses.create({ ...next, input: "Third" }, { headers: { "idempotency-key": "k3" } });
    expect(other.output_text).toBe("Other.");
    expect(JSON.stringify(model.prompts[2])).toContain("First");
    expect(JSON.stringify(model.prompts[2])).not.toContain("Second");
    const sessions = await log.listSessions();
    expect(sessions).toHaveLength(2);
    expect(sessions[0]?.forkedFrom).toMatchObject({ sessionId: "talk" });
    // Repeated requests find what they started.
    for (const [input, key] of [
      ["Second", "k2"],
      ["Third", "k3"],
    ] as const)
      await client.responses.create({ ...next, input }, { headers: { "idempotency-key": key } });
    expect(model.requests).toHaveLength(3);
    expect(await log.listSessions()).toHaveLength(2);
  });

  it("asks for approval, and the answer continues the run in another response", async () => {
    const { client, ran } = await createOpenaiFixture([
      {
        text: "I remove it.",
        calls: [
          { name: "remove", input: { path: "a" } },
          { name: "add", input: { a: 1, b: 2 } },
        ],
      },
      { text: "It is gone." },
    ]);
    const events = await collect(await client.responses.create({ model: "main", input: "Remove a", stream: true }));
    const asked = lastResponse(events);
    expect(asked.status).toBe("completed");
    expect(asked.output.map(({ type }) => type)).toEqual(["message", "mcp_call", "mcp_approval_request"]);
    const request = asked.output[2] as { readonly id: string };
    const answer = {
      model: "main",
      previous_response_id: asked.id,
      input: [{ type: "mcp_approval_response", approval_request_id: request.id, approve: true }],
    } as const;
    const rest = await client.responses.create({ ...answer, input: [...answer.input] });
    expect(rest).toMatchObject({ output_text: "It is gone.", previous_response_id: asked.id });
    expect(rest.output.map(({ type }) => type)).toEqual(["mcp_call", "message"]);
    expect(ran).toEqual([
      ["add", { a: 1, b: 2 }],
      ["remove", { path: "a" }],
    ]);
    // A repeated answer has no further effect.
    expect(await client.responses.create({ ...answer, input: [...answer.input] })).toEqual(rest);
    const other = { ...answer.input[0], approve: false };
    await expect(client.responses.create({ ...answer, input: [other] })).rejects.toBeInstanceOf(OpenAI.ConflictError);
    expect(await collect(client.responses.inputItems.list(rest.id))).toMatchObject([
      { type: "mcp_approval_response", approve: true },
    ]);
    expect(await client.responses.retrieve(asked.id)).toMatchObject(asked);
    const replay = await collect(await client.responses.retrieve(asked.id, { stream: true }));
    expect(replay).toEqual(events);
  });

  it("cancels a run that waits for an approval if another message follows", async () => {
    const { client, log } = await createOpenaiFixture([
      { calls: [{ name: "remove", input: { path: "a" } }] },
      { text: "I leave it." },
    ]);
    const asked = await client.responses.create({ model: "main", input: "Remove a", conversation: "s" });
    const next = await client.responses.create({
      model: "main",
      input: "No, leave it",
      previous_response_id: asked.id,
    });
    expect(next.output_text).toBe("I leave it.");
    expect((await log.listRuns("s")).map(({ status }) => status)).toEqual(["completed", "cancelled"]);
  });

  it("lets the client carry out its functions", async () => {
    const { client, model } = await createOpenaiFixture([
      { calls: [{ name: "locate" }, { name: "locate" }] },
      { text: "You are in Oslo." },
    ]);
    const first = await client.responses
      .stream({ model: "main", input: "Where am I?", tools: [LOCATE] })
      .finalResponse();
    const calls = first.output.filter((item) => item.type === "function_call");
    expect(calls).toHaveLength(2);
    const outputs = calls.map(({ call_id }) => ({ type: "function_call_output" as const, call_id, output: "Oslo" }));
    const second = await client.responses.create({
      model: "main",
      input: outputs,
      previous_response_id: first.id,
      tools: [LOCATE],
    });
    expect(second.output_text).toBe("You are in Oslo.");
    expect(JSON.stringify(model.prompts[1])).toContain("Oslo");
    // The answers are records one after the other, and a response could have ended between them.
    expect(await collect(client.responses.inputItems.list(second.id))).toMatchObject([
      { type: "function_call_output", call_id: calls[1]?.call_id, output: "Oslo" },
    ]);
  });

  it("runs in the background, and can be read, followed and cancelled by its ID", async () => {
    const gate = Promise.withResolvers<void>();
    const { client } = await createOpenaiFixture([
      { text: "Done.", until: gate.promise },
      { text: "Never", until: new Promise(() => undefined) },
    ]);
    const started = await client.responses.create({ model: "main", input: "Work", background: true });
    expect(["queued", "in_progress"]).toContain(started.status);
    const followed = client.responses.retrieve(started.id, { stream: true }).then(collect);
    gate.resolve();
    expect(lastResponse(await followed).output_text ?? "").toBeDefined();
    expect(await client.responses.retrieve(started.id)).toMatchObject({ status: "completed", output_text: "Done." });
    const other = await client.responses.create({ model: "main", input: "Work", background: true, stream: true });
    const reader = other[Symbol.asyncIterator]();
    const { value } = (await reader.next()) as { value: { readonly response: OpenaiResponse } };
    const cancelled = await client.responses.cancel(value.response.id);
    expect(cancelled.status).toBe("cancelled");
    expect(await client.responses.cancel(value.response.id)).toEqual(cancelled);
  });

  it("goes on when the client disconnects, or is cancelled if the client asked for that", async () => {
    const { client, log } = await createOpenaiFixture(
      Array.from({ length: 2 }, () => ({ text: "A long answer", fault: { kind: "stall" as const, after: 2 } })),
    );
    for (const policy of ["continue", "cancel"]) {
      const stream = await client.responses.create(
        { model: "main", input: "Work", stream: true, conversation: policy },
        { query: { on_disconnect: policy } },
      );
      const iterator = stream[Symbol.asyncIterator]();
      await iterator.next();
      stream.controller.abort();
    }
    await expect.poll(async () => (await log.listRuns("cancel"))[0]?.status, { timeout: 10_000 }).toBe("cancelled");
    expect((await log.listRuns("continue"))[0]?.status).toBe("live");
  });

  it("reports a failed run as a failed response", async () => {
    const { client } = await createOpenaiFixture([{ fault: { kind: "throw", error: new Error("Down") } }]);
    const response = await client.responses.create({ model: "main", input: "Hi" });
    expect(response).toMatchObject({ status: "failed", error: { message: expect.any(String) as string } });
  });

  it("sends errors that the client reads as its own", async () => {
    const { client } = await createOpenaiFixture([{ text: "One." }, { text: "Two." }]);
    await expect(client.responses.create({ model: "x", input: "Hi" })).rejects.toMatchObject({
      status: 404,
      code: "model_not_found",
      param: "model",
    });
    for (const id of ["resp_nonsense", "resp_WyJub25lIiwicnVuIiwwXQ"]) {
      await expect(client.responses.retrieve(id)).rejects.toBeInstanceOf(OpenAI.NotFoundError);
      await expect(client.responses.cancel(id)).rejects.toBeInstanceOf(OpenAI.NotFoundError);
      await expect(client.responses.create({ model: "main", input: "Hi", previous_response_id: id })).rejects.toThrow(
        "404",
      );
    }
    await expect(
      client.responses.create({
        model: "main",
        input: "Hi",
        text: { format: { type: "json_schema", name: "a" } as never },
      }),
    ).rejects.toMatchObject({ status: 400, param: "text.format" });
    const alone = await client.responses.create({ model: "main", input: "Hi" });
    await client.responses.delete(alone.id);
    await expect(client.responses.retrieve(alone.id)).rejects.toBeInstanceOf(OpenAI.NotFoundError);
  });

  it("is the same for two clients", async () => {
    const { client, baseURL } = await createOpenaiFixture([{ text: "Hello you" }]);
    const other = new OpenAI({ baseURL, apiKey: "another key" });
    const first = await client.responses.create({ model: "main", input: "Hi" });
    expect(await other.responses.retrieve(first.id)).toEqual(first);
  });
});
