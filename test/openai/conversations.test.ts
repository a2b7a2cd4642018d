// The Conversations API with the real `openai` client, and the session of `@openai/agents` that uses it.
import {
  Agent,
  hostedMcpTool,
  OpenAIConversationsSession,
  OpenAIResponsesModel,
  run,
  setTracingDisabled,
  tool,
} from "@openai/agents";
import OpenAI from "openai";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { openCredentials } from "../../src/server/auth/credentials/open-credentials.ts";
import type { Scope } from "../../src/server/auth/scopes.ts";
import { collect, createOpenaiFixture } from "./openai-fixture.ts";

setTracingDisabled(true);

type Item = OpenAI.Conversations.ConversationItem;
const PIXEL =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const user = (content: string) => ({ type: "message", role: "user", content }) as const;
const assistant = (text: string) =>
  ({ type: "message", role: "assistant", content: [{ type: "output_text", text, annotations: [] }] }) as never;

/** What a reader of the items sees. */
const show = (items: readonly Item[]): readonly string[] =>
  items.map((item) => {
    if (item.type === "message")
      return `${item.role}: ${item.content.map((part) => ("text" in part ? part.text : part.type)).join()}`;
    return item.type;
  });
const list = async (client: OpenAI, id: string, order: "asc" | "desc" = "asc", limit = 2) =>
  show(await collect(client.conversations.items.list(id, { order, limit })));

describe("a conversation", () => {
  it("is a session that keeps its metadata, until it is deleted", async () => {
    const { client, log } = await createOpenaiFixture([]);
    const { conversations } = client;
    const made = await conversations.create({ metadata: { topic: "demo" } });
    expect(made).toMatchObject({ object: "conversation", metadata: { topic: "demo" } });
    expect(made.id).toMatch(/^conv_/);
    expect(await conversations.retrieve(made.id)).toEqual(made);
    expect(await conversations.update(made.id, { metadata: { topic: "other" } })).toMatchObject({
      created_at: made.created_at,
    });
    expect((await conversations.retrieve(made.id)).metadata).toEqual({ topic: "other" });
    expect(await list(client, made.id)).toEqual([]);
    expect(await log.listSessions()).toMatchObject([{ sessionId: made.id }]);
    expect(await conversations.delete(made.id)).toEqual({ id: made.id, object: "conversation.deleted", deleted: true });
    await expect(conversations.retrieve(made.id)).rejects.toMatchObject({ status: 404, type: "invalid_request_error" });
    expect((await conversations.create()).metadata).toEqual({});
  });

  it("has the items that were added, and those of its responses, which know all of them", async () => {
    const { client, model, log } = await createOpenaiFixture([
      { reasoning: "I add.", calls: [{ name: "add", input: { a: 1, b: 2 } }] },
      { text: "It is 3." },
    ]);
    const { id } = await client.conversations.create({ items: [user("I am Ann."), assistant("Hello Ann.")] });
    const added = await client.conversations.items.create(id, {
      items: [
        user("Where am I?"),
        { type: "function_call", call_id: "c1", name: "locate", arguments: "{}" },
        { type: "function_call_output", call_id: "c1", output: "Oslo" },
        assistant("In Oslo."),
      ],
    });
    expect(added).toMatchObject({ object: "list", has_more: false, last_id: added.data.at(-1)?.id });
    await client.responses.create({ model: "main", conversation: id, input: "1 + 2?" });
    const items = [
      "user: I am Ann.",
      "assistant: Hello Ann.",
      "user: Where am I?",
      "function_call",
      "function_call_output",
      "assistant: In Oslo.",
      "user: 1 + 2?",
      "reasoning",
      "mcp_call",
      "assistant: It is 3.",
    ];
    expect(await list(client, id)).toEqual(items);
    expect(await list(client, id, "desc", 3)).toEqual(items.toReversed());
    expect(show(await collect(client.conversations.items.list(id)))).toEqual(items.toReversed());
    const prompt = JSON.stringify(model.prompts[0]);
    for (const text of ["I am Ann.", "Hello Ann.", "Where am I?", "locate", "Oslo", "1 + 2?"])
      expect(prompt).toContain(text);
    const all = await collect(client.conversations.items.list(id, { order: "asc" }));
    expect(new Set(all.map((item) => item.id)).size).toBe(items.length);
    expect(all[3]).toEqual(added.data[1]);
    for (const item of all)
      expect(await client.conversations.items.retrieve(item.id as string, { conversation_id: id })).toEqual(item);
    expect(await log.listSessions()).toMatchObject([{ sessionId: id, title: "I am Ann." }]);
  });

  it("keeps images, for the model too", async () => {
    const { client, model } = await createOpenaiFixture([{ text: "A dot." }]);
    const image = { type: "input_image", detail: "auto", image_url: PIXEL } as const;
    const content = [{ type: "input_text", text: "Look" } as const, image];
    const { id } = await client.conversations.create({ items: [{ type: "message", role: "user", content }] });
    const [item] = await collect(client.conversations.items.list(id));
    expect(item).toMatchObject({ content });
    await client.responses.create({ model: "main", conversation: id, input: "What is it?" });
    expect(JSON.stringify(model.prompts[0])).toContain("image/png");
  });

  it("answers a live approval from its items", async () => {
    const { client, ran } = await createOpenaiFixture([
      { calls: [{ name: "remove", input: { path: "x" }, id: "t1" }] },
      { text: "Done." },
    ]);
    const { id: conversation } = await client.conversations.create();
    const first = await client.responses.create({ model: "main", conversation, input: "Remove x" });
    const [, asked] = await collect(client.conversations.items.list(conversation, { order: "asc" }));
    expect(asked).toEqual(first.output[0]);
    const approval_request_id = asked?.id as string;
    const input = [{ type: "mcp_approval_response", approval_request_id, approve: true } as const];
    await client.responses.create({ model: "main", conversation, input });
    expect(ran).toEqual([["remove", { path: "x" }]]);
    const items = await collect(client.conversations.items.list(conversation, { order: "asc" }));
    expect(show(items)).toEqual([
      "user: Remove x",
      "mcp_approval_request",
      "mcp_approval_response",
      "mcp_call",
      "assistant: Done.",
    ]);
    expect(items[2]).toMatchObject({ approval_request_id, approve: true });
  });

  it("loses the items that are deleted, for the model too, and keeps the others with their IDs", async () => {
    const { client, model } = await createOpenaiFixture([{ text: "Yes." }]);
    const { items } = client.conversations;
    const { id } = await client.conversations.create({ metadata: { a: "b" } });
    const image = [{ type: "input_image", detail: "auto", image_url: PIXEL } as const];
    const { data } = await items.create(id, {
      items: [user("One"), assistant("Two"), { type: "message", role: "user", content: image }, assistant("Four")],
    });
    const remove = (at: number) => items.delete(data[at]?.id as string, { conversation_id: id });
    expect(await remove(1)).toMatchObject({ id, object: "conversation", metadata: { a: "b" } });
    expect(await remove(3)).toMatchObject({ id });
    const left = await collect(items.list(id, { order: "asc" }));
    expect(left).toEqual([data[0], { ...data[2], content: image }]);
    await client.responses.create({ model: "main", conversation: id, input: "Go" });
    expect(JSON.stringify(model.prompts[0])).not.toMatch(/Two|Four/);
    expect(JSON.stringify(model.prompts[0])).toContain("image/png");
    // A response has used it.
    await expect(remove(0)).rejects.toMatchObject({ status: 400, code: "invalid_request" });
    await expect(remove(1)).rejects.toMatchObject({ status: 404 });
    await client.conversations.delete(id);
    await expect(client.conversations.retrieve(id)).rejects.toMatchObject({ status: 404 });
  });

  it("is not changed by a request that is repeated with its key", async () => {
    const { client, log } = await createOpenaiFixture([]);
    const key = { headers: { "idempotency-key": "k" } };
    const create = () => client.conversations.create({ items: [user("Hi")], metadata: { a: "b" } }, key);
    const first = await create();
    expect(await create()).toEqual(first);
    const add = () => client.conversations.items.create(first.id, { items: [assistant("Ho")] }, key);
    expect(await add()).toEqual(await add());
    expect(await list(client, first.id)).toEqual(["user: Hi", "assistant: Ho"]);
    expect(await log.listSessions()).toHaveLength(1);
  });
});

describe("requests for conversations are refused", () => {
  it.each<[string, object[], object]>([
    ["an item without a type", [{ content: "x" }], { param: "items[0].type" }],
    ["instructions", [user("x"), { role: "system", content: "x" }], { param: "items[1].role" }],
    ["too many items", Array.from({ length: 101 }, () => user("x")), { param: "items" }],
    [
      "an image that the server would fetch",
      [{ ...user(""), content: [{ type: "input_image", image_url: "https://example.org/x" }] }],
      { code: "url_refused" },
    ],
  ])("with %s, and nothing is stored", async (_name, items, error) => {
    const { client, log } = await createOpenaiFixture([]);
    await expect(client.conversations.create({ items: items as never })).rejects.toMatchObject({
      status: 400,
      ...error,
    });
    expect(await log.listSessions()).toEqual([]);
  });

  it("if they are unknown, have too much metadata, or a run is live", async () => {
    const { client } = await createOpenaiFixture([{ calls: [{ name: "remove", input: { path: "x" } }] }]);
    const { conversations } = client;
    const missing = { status: 404, code: "unknown_session" };
    await expect(conversations.retrieve("none")).rejects.toMatchObject(missing);
    await expect(conversations.items.create("none", { items: [user("x")] })).rejects.toMatchObject(missing);
    await expect(collect(conversations.items.list("none"))).rejects.toMatchObject(missing);
    const { id } = await conversations.create();
    await expect(collect(conversations.items.list(id, { after: "none" }))).rejects.toMatchObject({ param: "after" });
    await expect(conversations.items.retrieve("none", { conversation_id: id })).rejects.toMatchObject({ status: 404 });
    const metadata = Object.fromEntries(Array.from({ length: 17 }, (_, index) => [index, "x"]));
    await expect(conversations.update(id, { metadata })).rejects.toMatchObject({ param: "metadata" });
    await client.responses.create({ model: "main", conversation: id, input: "Remove x" });
    await expect(conversations.items.create(id, { items: [user("x")] })).rejects.toMatchObject({
      status: 409,
      code: "run_live",
    });
  });

  it("of another owner like missing ones, and without the scope", async () => {
    const credentials = openCredentials(":memory:");
    onTestFinished(() => credentials.close());
    const { baseURL } = await createOpenaiFixture([], { auth: { credentials } });
    const sign = async (owner: string, scopes?: Scope[]) => {
      const { secret } = await credentials.createToken({
        name: `${owner}:${scopes?.join()}`,
        owner,
        ...(scopes && { scopes }),
      });
      return new OpenAI({ baseURL, apiKey: secret, maxRetries: 0 }).conversations;
    };
    const [ann, bob, reader] = [await sign("ann"), await sign("bob"), await sign("ann", ["read"])];
    const { id } = await ann.create({ items: [user("Hi")] });
    const [item] = await collect(reader.items.list(id));
    const itemId = item?.id as string;
    const sends = (from: OpenAI.Conversations) => ({
      retrieve: () => from.retrieve(id),
      list: () => collect(from.items.list(id)),
      item: () => from.items.retrieve(itemId, { conversation_id: id }),
      update: () => from.update(id, { metadata: {} }),
      add: () => from.items.create(id, { items: [user("x")] }),
      remove: () => from.items.delete(itemId, { conversation_id: id }),
      delete: () => from.delete(id),
    });
    for (const send of Object.values(sends(bob)))
      await expect(send()).rejects.toMatchObject({ status: 404, code: "unknown_session" });
    const { retrieve: _retrieve, list: _list, item: _item, ...writes } = sends(reader);
    for (const send of [...Object.values(writes), () => reader.create()])
      await expect(send()).rejects.toMatchObject({ status: 403, type: "permission_error" });
    expect(show(await collect(ann.items.list(id)))).toEqual(["user: Hi"]);
  });
});

describe("OpenAIConversationsSession", () => {
  it("keeps the conversation of an agent, with tools, an approval and an image", async () => {
    const { client, ran, model, log } = await createOpenaiFixture([
      { text: "Hello." },
      { calls: [{ name: "locate", input: {} }] },
      { text: "In Oslo." },
      { text: "Sure.", calls: [{ name: "remove", input: { path: "x" }, id: "t1" }] },
      { text: "Removed." },
      { text: "A dot." },
      { text: "Bye." },
    ]);
    const locate = tool({ name: "locate", description: "Finds", parameters: z.object({}), execute: () => "Oslo" });
    const loom = hostedMcpTool({ serverLabel: "loom", requireApproval: "always" });
    const outer = new Agent({ name: "outer", model: new OpenAIResponsesModel(client, "main"), tools: [locate, loom] });
    const session = new OpenAIConversationsSession({ client });
    expect((await run(outer, "Hi", { session })).finalOutput).toBe("Hello.");
    expect((await run(outer, "Where am I?", { session })).finalOutput).toBe("In Oslo.");
    const asked = await run(outer, "Remove x", { session });
    for (const call of asked.interruptions) asked.state.approve(call);
    expect((await run(outer, asked.state, { session })).finalOutput).toBe("Removed.");
    expect(ran).toEqual([["remove", { path: "x" }]]);
    const look = [{ role: "user" as const, content: [{ type: "input_image" as const, image: PIXEL }] }];
    const sessionInputCallback = (history: unknown[], input: unknown[]) => [...history, ...input] as never;
    expect((await run(outer, look, { session, sessionInputCallback })).finalOutput).toBe("A dot.");
    // The next turn sends the image again.
    expect((await run(outer, "Bye", { session })).finalOutput).toBe("Bye.");
    const prompt = JSON.stringify(model.prompts.at(-1));
    for (const text of ["Hi", "Hello.", "Where am I?", "Oslo", "Removed.", "image/png"]) expect(prompt).toContain(text);

    // The items are one session, and the runs, which it sends without its ID, another.
    expect(await log.listSessions()).toHaveLength(2);
    const items = await session.getItems();
    expect(items).toHaveLength(16);
    expect(await session.getItems(2)).toEqual(items.slice(-2));
    expect(await session.popItem()).toMatchObject({ role: "assistant" });
    expect(await session.getItems()).toEqual(items.slice(0, -1));
    const id = await session.getSessionId();
    expect(id).toMatch(/^conv_/);
    await session.clearSession();
    await expect(client.conversations.retrieve(id)).rejects.toMatchObject({ status: 404 });
  });
});
