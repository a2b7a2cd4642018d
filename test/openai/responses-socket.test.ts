// The WebSocket clients of the Responses API: the one of the `openai` package, its lanes, and the one of @openai/agents.
import { Agent, OpenAIResponsesWSModel, run, setTracingDisabled } from "@openai/agents";
import OpenAI from "openai";
import { ResponsesWebSocketSession } from "openai/lib/responses/responses-websocket-session";
import type { ResponsesServerEvent } from "openai/resources/responses/responses";
import { ResponsesWS } from "openai/resources/responses/ws";
import { describe, expect, it, onTestFinished } from "vitest";
import { openCredentials } from "../../src/server/auth/credentials/open-credentials.ts";
import { SERVER_LIMITS } from "../../src/server/index.ts";
import { collect, createOpenaiFixture } from "./openai-fixture.ts";

setTracingDisabled(true);

const LAST = /^response\.(?:completed|incomplete|failed)$/;

/** A connected client that keeps what it received. */
function connect(client: OpenAI, options: ConstructorParameters<typeof ResponsesWS>[1] = {}) {
  const socket = new ResponsesWS(client, options);
  onTestFinished(() => socket.close());
  const events: ResponsesServerEvent[] = [];
  const errors: Error[] = [];
  const closed = Promise.withResolvers<{ readonly code: number; readonly reason: string }>();
  socket.on("event", (event) => void events.push(event));
  socket.on("error", (error) => void errors.push(error));
  socket.on("close", (code, reason) => closed.resolve({ code, reason }));
  const until = async (count: number): Promise<void> => {
    await expect.poll(() => events.filter(({ type }) => LAST.test(type)).length, { timeout: 20_000 }).toBe(count);
  };
  return { socket, events, errors, closed: closed.promise, until };
}

/** The lanes of a connected client. */
async function openLanes(client: OpenAI) {
  const { socket } = connect(client);
  await new Promise<void>((resolve) => socket.socket.on("open", () => resolve()));
  return new ResponsesWebSocketSession(socket, { maxLanes: 10, maxBufferedEvents: 1000, maxBufferedBytes: 1e6 });
}

describe("the Responses API on a WebSocket", () => {
  it("sends the events of the HTTP stream, for one response after another", async () => {
    const { client, model } = await createOpenaiFixture([
      { reasoning: "I add.", calls: [{ name: "add", input: { a: 1, b: 2 } }] },
      { text: "It is 3." },
      { text: "Sure." },
    ]);
    const { socket, events, errors, until } = connect(client);
    socket.send({ type: "response.create", model: "main", input: "1 + 2?" });
    await until(1);
    const [created] = events;
    const id = created?.type === "response.created" ? created.response.id : "";
    expect(events).toEqual(await collect(await client.responses.retrieve(id, { stream: true })));
    socket.send({ type: "response.create", model: "main", input: "Sure?", previous_response_id: id });
    await until(2);
    expect(events.at(-1)).toMatchObject({ response: { previous_response_id: id, status: "completed" } });
    expect(JSON.stringify(model.prompts.at(-1))).toContain("It is 3.");
    expect(errors).toEqual([]);
  });

  it("keeps the order within a lane, and runs other lanes at the same time", async () => {
    const gate = Promise.withResolvers<void>();
    const { client, log } = await createOpenaiFixture(({ prompt }) =>
      JSON.stringify(prompt).includes("slow") ? { text: "Slow.", until: gate.promise } : { text: "Fast." },
    );
    const session = await openLanes(client);
    const [slow, fast] = [session.lane(), session.lane("fast.1")];
    slow.create({ model: "main", input: "slow", conversation: "slow" });
    slow.create({ model: "main", input: "next", conversation: "next" });
    fast.create({ model: "main", input: "now", conversation: "fast" });
    expect((await fast.finalResponse()).output_text).toBe("Fast.");
    // The second message of the lane has not started a run.
    expect(await log.getSession("next")).toBeUndefined();
    gate.resolve();
    expect((await slow.finalResponse()).output_text).toBe("Slow.");
    expect((await slow.finalResponse()).output_text).toBe("Fast.");
    fast.create({ model: "main", input: "again", conversation: "fast" });
    expect(await fast.receive()).toMatchObject({ type: "response.created", stream_id: "fast.1", sequence_number: 0 });
  });

  it("reports what it refuses, and stays usable", async () => {
    const { client, log } = await createOpenaiFixture([{ text: "Hello." }], {
      limits: { ...SERVER_LIMITS, maxBodyBytes: 2000 },
    });
    const { socket, events, errors, until } = connect(client);
    const create = { type: "response.create", model: "main", input: "Hi" } as const;
    const requests = [
      ["{", { status: 400, error: { type: "invalid_request_error" } }],
      ['{"type":"session.update"}', { status: 400, error: { param: "type" } }],
      [
        { ...create, model: "x" },
        { status: 404, error: { code: "model_not_found", param: "model" } },
      ],
      [
        { ...create, input: 1 },
        { status: 400, error: { param: "input" } },
      ],
      [
        { ...create, stream_id: "a b" },
        { status: 400, error: { param: "stream_id" } },
      ],
      [
        { ...create, stream_id: "a", tool_choice: "required" },
        { stream_id: "a", error: { param: "tool_choice" } },
      ],
      [{ ...create, previous_response_id: "resp_no" }, { status: 404 }],
      [
        { ...create, input: "x".repeat(3000) },
        { status: 413, error: { code: "body_too_large" } },
      ],
    ] as const;
    for (const [index, [request, expected]] of requests.entries()) {
      socket.sendRaw(typeof request === "string" ? request : JSON.stringify(request));
      await expect.poll(() => events.length, { timeout: 20_000 }).toBe(index + 1);
      expect(events.at(-1)).toMatchObject({ type: "error", ...expected });
    }
    socket.send({ type: "response.steer", input: "Stop", previous_response_id: "resp_no" });
    socket.sendRaw(new Uint8Array([1]));
    await expect.poll(() => events.length, { timeout: 20_000 }).toBe(requests.length + 2);
    expect(events.at(-2)).toMatchObject({ type: "response.steer.failed", error: { code: "steering_not_supported" } });
    expect(errors).toHaveLength(requests.length + 1);
    expect(await log.listSessions()).toEqual([]);
    socket.send(create);
    await until(1);
    expect(events.at(-1)).toMatchObject({ response: { status: "completed" } });
  });

  it("carries answers to calls of the client's functions", async () => {
    const { client } = await createOpenaiFixture([{ calls: [{ name: "locate" }] }, { text: "You are in Oslo." }]);
    const lane = (await openLanes(client)).lane("a");
    const tools = [{ type: "function", name: "locate", parameters: { type: "object" }, strict: false }] as const;
    lane.create({ model: "main", input: "Where am I?", tools: [...tools] });
    const first = await lane.finalResponse();
    const call = first.output.find((item) => item.type === "function_call");
    const output = { type: "function_call_output", call_id: call?.call_id ?? "", output: "Oslo" } as const;
    lane.create({ model: "main", input: [output], previous_response_id: first.id });
    expect((await lane.finalResponse()).output_text).toBe("You are in Oslo.");
  });

  it("limits how many lanes a connection has", async () => {
    const { client } = await createOpenaiFixture(() => ({ text: "Never", until: new Promise(() => undefined) }), {
      limits: { ...SERVER_LIMITS, maxSubscriptions: 1 },
    });
    const { socket, events } = connect(client);
    for (const stream_id of ["a", "b"]) socket.send({ type: "response.create", model: "main", input: "Hi", stream_id });
    await expect
      .poll(() => events.find(({ type }) => type === "error"), { timeout: 20_000 })
      .toMatchObject({ status: 429, stream_id: "b", error: { code: "too_many_subscriptions" } });
  });

  it("lets @openai/agents use an agent as its model", async () => {
    const { client } = await createOpenaiFixture([{ text: "Hello." }, { text: "Bye." }]);
    const model = new OpenAIResponsesWSModel(client, "main");
    onTestFinished(() => model.close());
    const outer = new Agent({ name: "outer", model });
    expect((await run(outer, "Hi")).finalOutput).toBe("Hello.");
    const stream = await run(outer, "Bye", { stream: true });
    await stream.completed;
    expect(stream.finalOutput).toBe("Bye.");
  });
});

describe("a WebSocket that is cut", () => {
  it("is reported as closed, and the rest of the response is read over HTTP", async () => {
    const gate = Promise.withResolvers<void>();
    const { client } = await createOpenaiFixture([{ text: "One two three.", chunk: 4, until: gate.promise }]);
    const { socket, events, closed } = connect(client);
    socket.send({ type: "response.create", model: "main", input: "Count" });
    await expect.poll(() => events.length, { timeout: 20_000 }).toBeGreaterThan(1);
    const received = [...events];
    socket.socket.terminate?.();
    expect((await closed).code).toBe(1006);
    gate.resolve();
    const id = received[0]?.type === "response.created" ? received[0].response.id : "";
    const last = received.at(-1);
    const starting_after = last !== undefined && "sequence_number" in last ? (last.sequence_number ?? 0) : 0;
    const rest = await collect(await client.responses.retrieve(id, { stream: true, starting_after }));
    expect([...received, ...rest]).toEqual(await collect(await client.responses.retrieve(id, { stream: true })));
    expect(rest.at(-1)).toMatchObject({ type: "response.completed" });
  });

  it("makes the response of a lane fail when the server stops", async () => {
    const { client, server } = await createOpenaiFixture([{ text: "Never", until: new Promise(() => undefined) }]);
    const { socket, events, closed } = connect(client);
    await new Promise<void>((resolve) => socket.socket.on("open", () => resolve()));
    const limits = { maxLanes: 1, maxBufferedEvents: 100, maxBufferedBytes: 1e6 };
    const lane = new ResponsesWebSocketSession(socket, limits).lane();
    lane.create({ model: "main", input: "Hi" });
    await expect.poll(() => events.length, { timeout: 20_000 }).toBeGreaterThan(0);
    const final = lane.finalResponse();
    await Promise.all([server.close({ graceMs: 0 }), expect(final).rejects.toThrow("connection closed")]);
    expect((await closed).code).toBe(1012);
    expect(events.some(({ type }) => type === "response.completed")).toBe(false);
  });

  it("cancels the run only if the client asked for that", async () => {
    const { baseURL, log } = await createOpenaiFixture(() => ({ text: "Never", until: new Promise(() => undefined) }));
    for (const policy of ["continue", "cancel"]) {
      const client = new OpenAI({ baseURL, apiKey: "any", defaultQuery: { on_disconnect: policy } });
      const { socket, events } = connect(client);
      socket.send({ type: "response.create", model: "main", input: "Hi", conversation: policy });
      await expect.poll(() => events.length, { timeout: 20_000 }).toBeGreaterThan(0);
      socket.close();
    }
    await expect.poll(async () => (await log.listRuns("cancel"))[0]?.status, { timeout: 20_000 }).toBe("cancelled");
    expect((await log.listRuns("continue"))[0]?.status).toBe("live");
  });
});

describe("access to the WebSocket", () => {
  it("needs a valid token with the permission, and an allowed origin", async () => {
    const credentials = openCredentials(":memory:");
    const { baseURL, log } = await createOpenaiFixture([{ text: "Hello." }], { auth: { credentials } });
    const connectWith = async (secret: string, headers: Record<string, string> = {}) => {
      const { socket, events, errors, closed } = connect(new OpenAI({ baseURL, apiKey: secret }), { headers });
      socket.send({ type: "response.create", model: "main", input: "Hi", conversation: "talk" });
      await expect.poll(() => events.length + errors.length, { timeout: 20_000 }).toBeGreaterThan(0);
      return { events, errors, closed };
    };
    expect((await connectWith("sk-other")).errors[0]?.message).toContain("401");
    const reader = await credentials.createToken({ name: "reader", owner: "eve", scopes: ["read"] });
    expect((await connectWith(reader.secret)).events[0]).toMatchObject({ type: "error", status: 403 });
    expect(await log.listSessions()).toEqual([]);
    const { secret, info } = await credentials.createToken({ name: "bob", owner: "bob" });
    expect((await connectWith(secret, { origin: "https://evil.example" })).errors[0]?.message).toContain("403");
    const { events, closed } = await connectWith(secret);
    expect(events[0]).toMatchObject({ type: "response.created" });
    // Another owner cannot continue the session.
    const other = await credentials.createToken({ name: "eve", owner: "eve" });
    expect((await connectWith(other.secret)).events[0]).toMatchObject({ type: "error" });
    await credentials.revokeToken(info.tokenId);
    expect((await closed).code).toBe(1008);
  });

  it("is below the base path of the server", async () => {
    const { server } = await createOpenaiFixture([{ text: "Hello." }], { basePath: "/agents" });
    const base = server.url.endsWith("/agents") ? server.url : `${server.url}/agents`;
    const { socket, until } = connect(new OpenAI({ baseURL: `${base}/openai/v1`, apiKey: "any" }));
    socket.send({ type: "response.create", model: "main", input: "Hi" });
    await until(1);
  });
});
