// Clients of Chat Completions that send the whole conversation with every message, as most do. Each conversation is one
// session, and none gets messages of another.
import { join } from "node:path";
import { tmpdir } from "node:os";
import { mkdtemp, rm } from "node:fs/promises";
import OpenAI from "openai";
import { describe, expect, it, onTestFinished } from "vitest";
import { agent } from "../../src/agents/index.ts";
import { type Log, openSqliteLog } from "../../src/log/index.ts";
import type { ScriptedRequest, ScriptedTurn } from "../../src/models/scripted-model.ts";
import { ScriptedModel } from "../../src/models/testing.ts";
import { openCredentials } from "../../src/server/auth/credentials/open-credentials.ts";
import { startLoomServer } from "../../src/server/index.ts";
import { createOpenaiFixture } from "./openai-fixture.ts";
import { LONG } from "../sampling.ts";

type Messages = OpenAI.ChatCompletionMessageParam[];

/** The texts of the user that the model sees. */
function askedIn(prompt: ScriptedRequest["prompt"]): readonly string[] {
  return prompt
    .filter(({ role }) => role === "user")
    .flatMap(({ content }) => (content as readonly { readonly text?: string }[]).map(({ text = "" }) => text));
}

/** Answers a greeting with one, and everything else with all that the user said. */
function respond({ prompt }: ScriptedRequest): ScriptedTurn {
  const asked = askedIn(prompt);
  return { text: asked.length === 1 ? "Hello!" : asked.join(" ") };
}

const user = (content: string) => ({ role: "user" as const, content });

/** A client that keeps the conversation itself. */
class Conversation {
  readonly messages: Messages = [];
  readonly #client: OpenAI;

  constructor(client: OpenAI, messages: Messages = []) {
    this.#client = client;
    this.messages.push(...messages);
  }

  async say(content: string, options: object = {}): Promise<string> {
    this.messages.push(user(content));
    const request = { model: "main", messages: this.messages };
    const { choices } = await this.#client.chat.completions.create(request, options);
    const answer = choices[0]?.message.content ?? "";
    this.messages.push({ role: "assistant", content: answer });
    return answer;
  }
}

async function listRuns(log: Log): Promise<readonly (readonly [session: string, runs: number])[]> {
  const sessions = await log.listSessions();
  return Promise.all(
    sessions.map(async ({ sessionId }) => [sessionId, (await log.listRuns(sessionId)).length] as const),
  );
}

const counts = async (log: Log) => (await listRuns(log)).map(([, runs]) => runs).toSorted((a, b) => a - b);

describe("a client that sends the whole conversation", () => {
  it("has one session, also with tools, reasoning, streams and other instructions", async () => {
    const { client, log, model } = await createOpenaiFixture([
      { text: " Hello! " },
      { reasoning: "I add.", text: "Adding.", calls: [{ name: "add", input: { a: 1, b: 2 } }] },
      { text: "It is 3." },
      { text: "Bye." },
    ]);
    const messages: Messages = [];
    for (const [index, content] of ["Hi", "1 + 2?", "Thanks"].entries()) {
      messages.push(user(content));
      const system = { role: "system" as const, content: `It is ${index} o'clock.` };
      const sent = { model: "main", messages: [system, ...messages] };
      const final = await client.chat.completions.stream(sent).finalMessage();
      // Many clients trim the text.
      messages.push({ role: "assistant", content: (final.content ?? "").trim() });
    }
    expect(messages.at(3)?.content).toMatch(/^Adding\.\s*It is 3\.$/);
    expect(await counts(log)).toEqual([3]);
    expect(askedIn(model.prompts.at(-1) ?? [])).toEqual(["Hi", "1 + 2?", "Thanks"]);
  });

  it("has one session with functions of the client", async () => {
    const { client, log } = await createOpenaiFixture([
      { calls: [{ name: "locate", input: {} }] },
      { text: "You are in Oslo." },
      { text: "In Norway." },
    ]);
    const parameters = { type: "object", properties: {} };
    const tool = {
      type: "function",
      function: { name: "locate", parameters, parse: JSON.parse, function: () => "Oslo" },
    };
    const runner = client.chat.completions.runTools({
      model: "main",
      messages: [user("Where am I?")],
      tools: [tool as never],
    });
    await runner.finalContent();
    const { messages } = runner;
    await client.chat.completions.create({ model: "main", messages: [...messages, user("Where is that?")] });
    expect(await counts(log)).toEqual([2]);
  });

  it("has one session if it uses the Responses API", async () => {
    const { client, log } = await createOpenaiFixture(respond);
    const input: OpenAI.Responses.ResponseInput = [];
    for (const content of ["Hi", "a", "b"]) {
      input.push({ role: "user", content });
      const { output } = await client.responses.create({ model: "main", input });
      input.push(...(output as OpenAI.Responses.ResponseInputItem[]));
    }
    expect(await counts(log)).toEqual([3]);
  });

  it.runIf(LONG)("keeps its session over a restart of the server", async () => {
    const folder = await mkdtemp(join(tmpdir(), "loom-stateless-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const messages: Messages = [];
    const ask = async (content: string): Promise<readonly (readonly [string, number])[]> => {
      const log = await openSqliteLog(join(folder, "loom.db"));
      const agents = { main: agent({ model: new ScriptedModel(respond) }) };
      const server = await startLoomServer({ log, agents, port: 0 });
      const client = new OpenAI({ baseURL: `${server.url}/openai/v1`, apiKey: "any" });
      const conversation = new Conversation(client, messages);
      await conversation.say(content);
      messages.splice(0, messages.length, ...conversation.messages);
      const runs = await listRuns(log);
      await server.close({ graceMs: 0 });
      await log.close();
      return runs;
    };
    const [first] = await ask("Hi");
    expect(await ask("a")).toEqual([[first?.[0], 2]]);
  });

  it("repeats a later message with its key without a second run, also in a fork", async () => {
    const { client, log, model } = await createOpenaiFixture(respond);
    const conversation = new Conversation(client);
    await conversation.say("Hi");
    const begun = [...conversation.messages];
    for (const content of ["a", "b"]) {
      const [one, two] = [new Conversation(client, begun), new Conversation(client, begun)];
      const key = { headers: { "idempotency-key": `key-${content}` } };
      expect(await one.say(content, key)).toBe(await two.say(content, key));
    }
    expect(model.requests).toHaveLength(3);
    expect(await counts(log)).toEqual([2, 2]);
    const other = new Conversation(client);
    await other.say("x", { headers: { "idempotency-key": "new" } });
    await expect(new Conversation(client).say("y", { headers: { "idempotency-key": "new" } })).rejects.toMatchObject({
      status: 409,
      code: "command_conflict",
    });
  });
});

describe("conversations that begin alike", () => {
  it("have a session each, however their messages alternate", async () => {
    const { client, log, model } = await createOpenaiFixture(respond);
    const conversations = [new Conversation(client), new Conversation(client), new Conversation(client)];
    for (const conversation of conversations) expect(await conversation.say("Hi")).toBe("Hello!");
    for (const round of ["a", "b"])
      for (const [index, conversation] of conversations.entries()) await conversation.say(`${round}${index}`);
    expect(await counts(log)).toEqual([3, 3, 3]);
    expect(conversations.map(({ messages }) => messages.at(-1)?.content)).toEqual(["Hi a0 b0", "Hi a1 b1", "Hi a2 b2"]);
    expect(model.requests).toHaveLength(9);
  });

  it("never get the messages of each other if they are sent at the same moment", async () => {
    const { client, log } = await createOpenaiFixture(respond);
    const first = new Conversation(client);
    await first.say("Hi");
    // One session has the beginning, and eight conversations go on from it.
    const names = Array.from({ length: 8 }, (_, index) => `n${index}`);
    const conversations = names.map(() => new Conversation(client, first.messages));
    const say = (suffix: string) => Promise.all(conversations.map((each, at) => each.say(`${names[at]}${suffix}`)));
    expect(await say("")).toEqual(names.map((name) => `Hi ${name}`));
    expect(await say("!")).toEqual(names.map((name) => `Hi ${name} ${name}!`));
    expect(await counts(log)).toEqual(names.map(() => 3));
  });

  it.runIf(LONG)("never get the messages of each other from servers that share a store", async () => {
    const folder = await mkdtemp(join(tmpdir(), "loom-stateless-"));
    const clients: OpenAI[] = [];
    const logs: Log[] = [];
    onTestFinished(() => rm(folder, { recursive: true }));
    for (let count = 0; count < 2; count++) {
      const log = await openSqliteLog(join(folder, "loom.db"));
      const agents = { main: agent({ model: new ScriptedModel(respond) }) };
      const server = await startLoomServer({ log, agents, port: 0 });
      onTestFinished(async () => {
        await server.close({ graceMs: 0 });
        await log.close();
      });
      clients.push(new OpenAI({ baseURL: `${server.url}/openai/v1`, apiKey: "any", maxRetries: 0 }));
      logs.push(log);
    }
    const [one, two] = clients as [OpenAI, OpenAI];
    const first = new Conversation(one);
    await first.say("Hi");
    const names = ["a", "b", "c", "d"];
    const answers = await Promise.all(
      names.map((name, at) => new Conversation(at % 2 === 0 ? one : two, first.messages).say(name)),
    );
    expect(answers).toEqual(names.map((name) => `Hi ${name}`));
    expect(await counts(logs[0] as Log)).toEqual([2, 2, 2, 2]);
  });

  it("of different owners are not looked at", async () => {
    const credentials = openCredentials(":memory:");
    onTestFinished(() => credentials.close());
    const { baseURL, log } = await createOpenaiFixture(respond, { auth: { credentials } });
    const sign = async (owner: string) => {
      const { secret } = await credentials.createToken({ name: owner, owner });
      return new OpenAI({ baseURL, apiKey: secret, maxRetries: 0 });
    };
    const ann = new Conversation(await sign("ann"));
    await ann.say("Hi");
    const bob = new Conversation(await sign("bob"), ann.messages);
    await bob.say("Mine");
    await ann.say("Mine");
    const sessions = await log.listSessions();
    expect(sessions.map(({ owner }) => owner).toSorted()).toEqual(["ann", "bob"]);
    expect(await counts(log)).toEqual([2, 2]);
  });
});

describe("a conversation that the client changed", () => {
  const start = async () => {
    const fixture = await createOpenaiFixture(respond);
    const conversation = new Conversation(fixture.client);
    for (const content of ["Hi", "a", "b"]) await conversation.say(content);
    return { ...fixture, messages: conversation.messages };
  };

  it("is forked before the message that was edited or is answered again", async () => {
    const { client, log, messages } = await start();
    const edited = new Conversation(client, messages.slice(0, 2));
    expect(await edited.say("A")).toBe("Hi A");
    expect(await edited.say("c")).toBe("Hi A c");
    await new Conversation(client, messages.slice(0, 4)).say("b");
    const sessions = await log.listSessions();
    expect(new Set(sessions.map(({ rootId }) => rootId)).size).toBe(1);
    expect(await counts(log)).toEqual([3, 3, 3]);
  });

  it("becomes a new session if an answer was changed, or a message of the past", async () => {
    const { client, log, messages } = await start();
    const changed = messages.with(1, { role: "assistant", content: "Go away!" });
    expect(await new Conversation(client, changed).say("c")).toBe("Hi a b c");
    expect(await new Conversation(client, messages.with(0, user("Ho"))).say("c")).toBe("Ho a b c");
    expect(await new Conversation(client, messages.with(5, { role: "assistant", content: "B" })).say("c")).toBe(
      "Hi a b c",
    );
    const sessions = await log.listSessions();
    expect(new Set(sessions.map(({ rootId }) => rootId)).size).toBe(4);
  });

  it("goes on in its session if the client has a part of an answer that was cancelled", async () => {
    const { client, log } = await createOpenaiFixture([
      { text: "Hello you", chunk: 5, fault: { kind: "stall", after: 1 } },
      { text: "Again." },
    ]);
    const stream = await client.chat.completions.create(
      { model: "main", messages: [user("Hi")], stream: true },
      { query: { on_disconnect: "cancel" } },
    );
    for await (const chunk of stream) if (chunk.choices[0]?.delta.content === "Hello") break;
    await expect
      .poll(async () => (await log.listRuns((await log.listSessions())[0]?.sessionId ?? ""))[0]?.status)
      .toBe("cancelled");
    await new Conversation(client, [user("Hi"), { role: "assistant", content: "Hel" }]).say("b");
    expect(await counts(log)).toEqual([2]);
  });

  it("becomes a new session while the run of the answer that the client left goes on", async () => {
    const { client, log } = await createOpenaiFixture([
      { text: "Hello you", chunk: 5, fault: { kind: "stall", after: 1 } },
      { text: "Again." },
    ]);
    const stream = await client.chat.completions.create({ model: "main", messages: [user("Hi")], stream: true });
    for await (const chunk of stream) if (chunk.choices[0]?.delta.content === "Hello") break;
    expect(await new Conversation(client, [user("Hi"), { role: "assistant", content: "Hello" }]).say("b")).toBe(
      "Again.",
    );
    expect(await counts(log)).toEqual([1, 2]);
  });
});
