import { describe, expect, it } from "vitest";
import {
  createServerFixture,
  readSse,
  type ServerFixture,
  type SseEvent,
} from "../../../../test/server/server-fixture.ts";
import type { JsonObject } from "../../../protocol/index.ts";
import { formatStreamId, parseStreamId } from "./stream-id.ts";

type Fetch = ServerFixture["fetch"];

const parse = ({ data }: SseEvent): JsonObject => JSON.parse(data) as JsonObject;
const user = (id: string, text: string): JsonObject => ({ id, role: "user", parts: [{ type: "text", text }] });
const post = (body: unknown, headers: { readonly [name: string]: string } = {}): RequestInit => ({
  method: "POST",
  headers: { "content-type": "application/json", ...headers },
  body: JSON.stringify(body),
});

async function say(fetch: Fetch, text: string, more: object = {}, id = "u1") {
  const response = await fetch("/api/chat", post({ id: "c", messages: [user(id, text)], ...more }));
  expect(response.status).toBe(200);
  return { response, events: await readSse(response) };
}

const textOf = (events: readonly SseEvent[]): string =>
  events
    .map(parse)
    .map(({ type, delta }) => (type === "text-delta" ? (delta as string) : ""))
    .join("");

const REMOVE = [{ calls: [{ name: "remove", input: { path: "x" }, id: "t1" }] }, { text: "Done." }];

function answer(run: string, approved: boolean): JsonObject {
  const part = { type: "tool-remove", toolCallId: "t1", state: "approval-responded", input: { path: "x" } };
  return { id: run, role: "assistant", parts: [{ ...part, approval: { id: "t1", approved } }] };
}

describe("POST /api/chat with messages", () => {
  it("streams the answer as chunks of the AI SDK, in the session with the ID of the chat", async () => {
    const { fetch, log } = await createServerFixture({ script: [{ text: "Hello, world." }] });
    const { response, events } = await say(fetch, "Hi");
    const [run] = await log.listRuns("c");
    expect(response.headers.get("x-vercel-ai-ui-message-stream")).toBe("v1");
    expect(parseStreamId(response.headers.get("x-workflow-run-id") ?? "")).toMatchObject({
      session: "c",
      run: run?.runId,
    });
    expect(parse(events[0] as SseEvent)).toEqual({ type: "start", messageId: run?.runId });
    expect(textOf(events)).toBe("Hello, world.");
    expect(parse(events.at(-1) as SseEvent)).toEqual({ type: "finish", finishReason: "stop" });
    expect(run?.requestId).toBe("u1");
  });

  it("takes `system` and system messages as instructions of the run", async () => {
    const { fetch, log } = await createServerFixture({ script: [{ text: "Oui." }] });
    const messages = [{ id: "s", role: "system", parts: [{ type: "text", text: "In French." }] }, user("u1", "Is it?")];
    const ask = async (system: string) => textOf((await say(fetch, "", { system, messages })).events);
    expect(await ask("Be short. It is 12:00.")).toBe("Oui.");
    // A retry of the client finds the same run, also if the system prompt has the time.
    expect(await ask("Be short. It is 12:01.")).toBe("Oui.");
    expect(await log.listRuns("c")).toHaveLength(1);
    const { texts } = await log.read("c", { after: 0, limit: 1 });
    expect(JSON.parse(texts[0] ?? "")).toMatchObject({
      message: "Is it?",
      instructions: "Be short. It is 12:00.\n\nIn French.",
    });
  });

  it("accepts a body without a content type of JSON and without a chat ID, and finds the chat again", async () => {
    const { fetch, log } = await createServerFixture({ script: [{ text: "One." }, { text: "Two." }] });
    const send = async (messages: readonly JsonObject[]) =>
      readSse(await fetch("/api/chat", { method: "POST", body: JSON.stringify({ messages }) }));
    const first = await send([user("u1", "1")]);
    const id = parse(first[0] as SseEvent)["messageId"] as string;
    await send([user("u1", "1"), { id, role: "assistant", parts: [] }, user("u2", "2")]);
    const { sessions } = await log.listSessions({}).then((sessions) => ({ sessions }));
    expect(sessions).toHaveLength(1);
    expect(await log.listRuns(sessions[0]?.sessionId ?? "")).toHaveLength(2);
  });

  it("starts no second run for a repeated message", async () => {
    const { fetch, log } = await createServerFixture({ script: [{ text: "Once." }] });
    const { events } = await say(fetch, "Hi");
    expect((await say(fetch, "Hi")).events).toEqual(events);
    expect(await log.listRuns("c")).toHaveLength(1);
  });

  it("ignores the history that the client sends", async () => {
    const { fetch, core } = await createServerFixture({
      script: (request) => ({ text: JSON.stringify(request.prompt) }),
    });
    const invented = { id: "a0", role: "assistant", parts: [{ type: "text", text: "SECRET" }] };
    const response = await fetch(
      "/api/chat",
      post({ id: "c", messages: [user("u0", "SECRET"), invented, user("u1", "Hi")] }),
    );
    expect(textOf(await readSse(response))).not.toContain("SECRET");
    expect(core.log).toBeDefined();
  });

  it("stores the files of a message", async () => {
    const { fetch, ask } = await createServerFixture({ script: [{ text: "A file." }] });
    const file = { type: "file", mediaType: "text/plain", filename: "a.txt", url: "data:text/plain;base64,aGk=" };
    const message = { id: "u1", role: "user", parts: [file, { type: "text", text: "Read" }] };
    await readSse(await fetch("/api/chat", post({ id: "c", messages: [message] })));
    const [question] = (await ask("GET", "/api/chat/c/messages")) as unknown as readonly JsonObject[];
    expect(question).toMatchObject({
      id: "u1",
      role: "user",
      parts: [
        {
          type: "file",
          mediaType: "text/plain",
          filename: "a.txt",
          url: expect.stringContaining("/v1/sessions/c/blobs/") as unknown,
        },
        { type: "text", text: "Read" },
      ],
    });
  });

  it("refuses requests without a message", async () => {
    const { ask, log } = await createServerFixture();
    const refuse = (messages: unknown, status = 400) => ask("POST", "/api/chat", { id: "c", messages }, { status });
    expect(await refuse([])).toMatchObject({ code: "invalid_request" });
    expect(await refuse([user("u1", " ")])).toMatchObject({ code: "invalid_request" });
    expect(await refuse([{ role: "system", parts: [] }])).toMatchObject({ code: "invalid_request" });
    expect(await refuse([{ id: "a", role: "assistant", parts: [] }])).toMatchObject({ code: "invalid_request" });
    expect(await refuse(["text"])).toMatchObject({ code: "invalid_request" });
    expect(await refuse([answer("run-1", true)], 404)).toMatchObject({ code: "unknown_session" });
    expect(await log.getSession("c")).toBeUndefined();
  });
});

describe("approvals of AI SDK clients", () => {
  it("ends the response while the run waits, and continues the message with the answer", async () => {
    const { fetch, ran, log } = await createServerFixture({ script: REMOVE });
    const { events } = await say(fetch, "Remove x");
    const types = events.map(parse).map(({ type }) => type);
    expect(types.slice(-2)).toEqual(["tool-approval-request", "finish"]);
    expect(ran).toEqual([]);
    const [run] = await log.listRuns("c");
    const send = async () =>
      fetch("/api/chat", post({ id: "c", messages: [user("u1", "Remove x"), answer(run?.runId ?? "", true)] }));
    const rest = await send();
    const restEvents = await readSse(rest);
    expect(restEvents.map(parse).map(({ type }) => type)).toContain("tool-output-available");
    expect(textOf(restEvents)).toBe("Done.");
    expect(ran).toEqual([["remove", { path: "x" }]]);
    // The whole message is the first response without its end, and the second.
    const whole = await readSse(await fetch("/api/chat/c/stream"));
    expect(whole.filter(({ data }) => !data.includes("data-loom-waiting"))).toEqual([
      ...events.slice(0, -1),
      ...restEvents,
    ]);
    // The same answer again changes nothing.
    expect(await readSse(await send())).toEqual(restEvents);
    expect(await log.listRuns("c")).toHaveLength(1);
  });

  it("sends the whole rest when several calls are answered at once", async () => {
    const calls = ["t1", "t2", "t3"].map((id) => ({ name: "remove", input: { path: id }, id }));
    const { fetch, log, ran } = await createServerFixture({ script: [{ calls }, { text: "Done." }] });
    await say(fetch, "Remove all");
    const [run] = await log.listRuns("c");
    const parts = calls.map(({ id, input }) => {
      const approval = { id, approved: id !== "t2" };
      return { type: "tool-remove", toolCallId: id, state: "approval-responded", input, approval };
    });
    const messages = [user("u1", "Remove all"), { id: run?.runId, role: "assistant", parts }];
    const response = await fetch("/api/chat", post({ id: "c", messages }));
    const events = await readSse(response);
    expect(textOf(events)).toBe("Done.");
    expect(parse(events.at(-1) as SseEvent)).toEqual({ type: "finish", finishReason: "stop" });
    expect(ran).toHaveLength(2);
    const path = `/api/chat/${response.headers.get("x-workflow-run-id")}/stream`;
    expect(await readSse(await fetch(`${path}?startIndex=1`))).toEqual(events.slice(1));
  });

  it("replays a waiting run up to its request", async () => {
    const { fetch } = await createServerFixture({ script: REMOVE });
    const { events } = await say(fetch, "Remove x");
    expect(await readSse(await fetch("/api/chat/c/stream"))).toEqual(events);
  });

  it("cancels a waiting run for a new message", async () => {
    const { fetch, log, ran } = await createServerFixture({ script: [REMOVE[0] ?? {}, { text: "Fine." }] });
    await say(fetch, "Remove x");
    const [waiting] = await log.listRuns("c");
    const messages = [
      user("u1", "Remove x"),
      { id: waiting?.runId, role: "assistant", parts: [] },
      user("u2", "Never mind"),
    ];
    expect(textOf(await readSse(await fetch("/api/chat", post({ id: "c", messages }))))).toBe("Fine.");
    expect((await log.listRuns("c")).map(({ status }) => status)).toEqual(["completed", "cancelled"]);
    expect(ran).toEqual([]);
  });
});

describe("GET /api/chat/{chat}/stream", () => {
  it("sends the latest message again, also after its end", async () => {
    const { fetch } = await createServerFixture({ script: [{ text: "One." }, { text: "Two." }] });
    expect((await fetch("/api/chat/c/stream")).status).toBe(204);
    await say(fetch, "1");
    const { events } = await say(fetch, "2", {}, "u2");
    expect(await readSse(await fetch("/api/chat/c/stream"))).toEqual(events);
  });

  it("resumes a stream at any chunk, by index and by cursor", async () => {
    const { fetch } = await createServerFixture({ script: REMOVE });
    const { response, events } = await say(fetch, "Remove x");
    const path = `/api/chat/${response.headers.get("x-workflow-run-id")}/stream`;
    for (const [index, { id = "" }] of events.entries()) {
      const rest = events.slice(index);
      expect(await readSse(await fetch(`${path}?startIndex=${index}`))).toEqual(rest);
      const last = await fetch(`${path}?startIndex=${-rest.length}`);
      expect(last.headers.get("x-workflow-stream-tail-index")).toBe(String(events.length - 1));
      expect(await readSse(last)).toEqual(rest);
      if (rest.length < 2) continue;
      expect(await readSse(await fetch(path, { headers: { "last-event-id": id } }))).toEqual(rest.slice(1));
    }
  });

  it("ends with `finish` for a client that cannot read an empty response", async () => {
    const { fetch } = await createServerFixture();
    expect((await readSse(await fetch("/api/chat/new/stream?startIndex=0"))).map(parse)).toEqual([{ type: "finish" }]);
  });

  it("refuses streams that do not exist", async () => {
    const { fetch } = await createServerFixture({ script: [{ text: "One." }] });
    await say(fetch, "1");
    const unknown = formatStreamId({ session: "c", run: "none" });
    expect((await fetch(`/api/chat/${unknown}/stream`)).status).toBe(404);
    expect((await fetch(`/api/chat/${formatStreamId({ session: "x", run: "none" })}/stream`)).status).toBe(404);
    expect((await fetch("/api/chat/wrun_junk/stream")).status).toBe(204);
    expect((await fetch("/api/chat/c/stream?startIndex=1.5")).status).toBe(400);
  });
});

describe("a server that shuts down", () => {
  it("breaks the stream off, because clients take an orderly end for a complete answer", async () => {
    const { fetch, core } = await createServerFixture({ script: [{ text: "Never", fault: { kind: "stall" } }] });
    const response = await fetch("/api/chat", post({ id: "c", messages: [user("u1", "Hi")] }));
    await core.streams.close();
    await expect(response.text()).rejects.toThrow("interrupted");
  });
});

describe("POST /api/chat/{chat}/stop", () => {
  it("cancels the live run, and the stream ends with `finish`", async () => {
    const { fetch, log } = await createServerFixture({ script: [{ text: "Never", fault: { kind: "stall" } }] });
    const response = await fetch("/api/chat", post({ id: "c", messages: [user("u1", "Hi")] }));
    expect((await fetch("/api/chat/c/stop", { method: "POST" })).status).toBe(200);
    const types = (await readSse(response)).map(parse).map(({ type }) => type);
    expect(types.slice(-2)).toEqual(["abort", "finish"]);
    expect((await log.listRuns("c"))[0]?.status).toBe("cancelled");
    expect((await fetch("/api/chat/c/stop", { method: "POST" })).status).toBe(204);
    expect((await fetch("/api/chat/unknown/stop", { method: "POST" })).status).toBe(204);
  });
});

describe("GET /api/chat/{chat}/messages", () => {
  it("lists the messages without the answer of a live run", async () => {
    const gate = Promise.withResolvers<void>();
    const script = [{ text: "One." }, { text: "Two.", until: gate.promise }];
    const { fetch, ask } = await createServerFixture({ script });
    const list = async () =>
      ((await ask("GET", "/api/chat/c/messages")) as unknown as readonly JsonObject[]).map(({ role }) => role);
    expect(await list()).toEqual([]);
    await say(fetch, "1");
    const live = await fetch("/api/chat", post({ id: "c", messages: [user("u2", "2")] }));
    expect(await list()).toEqual(["user", "assistant", "user"]);
    gate.resolve();
    await readSse(live);
    expect(await list()).toEqual(["user", "assistant", "user", "assistant"]);
  });

  it("includes the answer of a run that waits for the user", async () => {
    const { fetch, ask } = await createServerFixture({ script: REMOVE });
    await say(fetch, "Remove x");
    const messages = (await ask("GET", "/api/chat/c/messages")) as unknown as readonly JsonObject[];
    expect(messages.at(-1)).toMatchObject({
      role: "assistant",
      parts: expect.arrayContaining([expect.objectContaining({ state: "approval-requested" })]) as unknown,
    });
  });
});

/** A message of assistant-ui, which edits a message by leaving out it and those after it. */
const omitting = (id: string, text: string): JsonObject => ({ ...user(id, text), metadata: { custom: {} } });

describe("versions of a chat", () => {
  const assistant = (id: string): JsonObject => ({ id, role: "assistant", parts: [] });
  const script = (request: { readonly prompt: readonly unknown[] }, turn: number) => ({
    text: `${turn} after ${request.prompt.length}`,
  });

  async function createChat() {
    const fixture = await createServerFixture({ script });
    const { fetch, log, ask } = fixture;
    const send = async (messages: readonly JsonObject[], more: object = {}) => {
      const response = await fetch("/api/chat", post({ id: "c", messages, ...more }));
      const events = await readSse(response);
      const start = events.map(parse).find(({ type }) => type === "start");
      const stream = response.headers.get("x-workflow-run-id") ?? "";
      return { run: start?.["messageId"] as string, text: textOf(events), events, stream };
    };
    const list = async () =>
      ((await ask("GET", "/api/chat/c/messages")) as unknown as readonly JsonObject[]).map(({ id }) => id);
    const first = await send([user("u1", "1")]);
    const second = await send([user("u1", "1"), assistant(first.run), user("u2", "2")]);
    const count = async () => (await log.listBranches("c", { limit: 100 })).length;
    return { ...fixture, send, list, first: first.run, second: second.run, count };
  }

  it("answers a message again in a new version, and keeps the old one", async () => {
    const { send, list, first, second, log, count } = await createChat();
    const messages = [user("u1", "1"), assistant(first), user("u2", "2")];
    const again = await send(messages, { trigger: "regenerate-message", messageId: second });
    expect(await list()).toEqual(["u1", first, "u2", again.run]);
    expect((await log.listRuns("c")).map(({ runId }) => runId)).toEqual([second, first]);
    // The same request again, and the message after it.
    expect((await send(messages, { trigger: "regenerate-message", messageId: second })).run).toBe(again.run);
    expect(await count()).toBe(2);
    const third = await send([...messages, assistant(again.run), user("u3", "3")]);
    expect(await list()).toEqual(["u1", first, "u2", again.run, "u3", third.run]);
    // Without an ID, the last answer is replaced.
    const last = await send([...messages, assistant(again.run), user("u3", "3")], { trigger: "regenerate-message" });
    expect(await list()).toEqual(["u1", first, "u2", again.run, "u3", last.run]);
    expect(await count()).toBe(3);
  });

  it("answers an edited message in a new version", async () => {
    const { send, list, first, count } = await createChat();
    const edited = await send([user("u1", "One")], { messageId: "u1" });
    expect(await list()).toEqual(["u1", edited.run]);
    expect(edited.run).not.toBe(first);
    const twice = await send([user("u1", "ONE")], { messageId: "u1" });
    expect(await list()).toEqual(["u1", twice.run]);
    expect(await count()).toBe(3);
  });

  it("get the message of a client that lacks the latest messages at the end of the newest one", async () => {
    const { fetch, send, list, first, second, count } = await createChat();
    const stale = [user("u1", "1"), assistant(first), user("u3", "3")];
    const third = await send(stale);
    expect(await list()).toEqual(["u1", first, "u2", second, "u3", third.run]);
    expect(parse(third.events[0] as SseEvent)).toMatchObject({ data: { code: "missed_messages" }, transient: true });
    // The notice counts as the first chunk, also in a stream that is resumed.
    const texts = third.events.map(({ data }) => data);
    for (const [startIndex, rest] of [
      [0, texts],
      [1, texts.slice(1)],
      [2, texts.slice(2)],
      [-1, texts.slice(-1)],
    ] as const) {
      const resumed = await readSse(await fetch(`/api/chat/${third.stream}/stream?startIndex=${startIndex}`));
      expect(resumed.map(({ data }) => data)).toEqual(rest);
    }
    expect((await send(stale)).run).toBe(third.run);
    expect(await count()).toBe(1);
  });

  it("are forked where the messages of a client end that edits by leaving out messages", async () => {
    const { send, list, first, second, log, count } = await createChat();
    const edited = [user("u1", "1"), assistant(first), omitting("u3", "3")];
    const other = await send(edited);
    expect(await list()).toEqual(["u1", first, "u3", other.run]);
    expect(parse(other.events[0] as SseEvent)).toMatchObject({ data: { code: "new_version" }, transient: true });
    expect((await log.listRuns("c")).map(({ runId }) => runId)).toEqual([second, first]);
    expect((await send(edited)).run).toBe(other.run);
    expect(await count()).toBe(2);
    // A client that still shows the first version continues that one.
    const back = [user("u1", "1"), assistant(first), user("u2", "2"), assistant(second), user("u4", "4")];
    const fourth = await send(back);
    expect(await list()).toEqual(["u1", first, "u2", second, "u4", fourth.run]);
    expect(await count()).toBe(3);
  });

  it("appends the message of a client that sends only that, or has a question without an answer", async () => {
    const { send, list, first, second, count } = await createChat();
    const third = await send([user("u3", "3")]);
    const history = [user("u1", "1"), assistant(first), user("u2", "2"), assistant(second)];
    const fourth = await send([...history, user("u3", "3"), user("u4", "4")]);
    expect(await list()).toEqual(["u1", first, "u2", second, "u3", third.run, "u4", fourth.run]);
    expect(await count()).toBe(1);
  });
});

describe("messages of a transport that sends all of them", () => {
  const script = (request: { readonly prompt: readonly unknown[] }, turn: number) => ({
    text: `${turn} after ${request.prompt.length}`,
  });
  const submit = { trigger: "submit-message" };

  it("forks before the first message if the client edits by leaving out messages, and left out all", async () => {
    const { fetch, log } = await createServerFixture({ script });
    await say(fetch, "1", submit);
    const edited = { ...submit, messages: [omitting("u2", "2")] };
    expect(textOf((await say(fetch, "", edited)).events)).toBe("1 after 1");
    const versions = await log.listBranches("c", { limit: 10 });
    expect(versions).toHaveLength(2);
    expect((await log.listRuns("c")).map(({ requestId }) => requestId)).toEqual(["u1"]);
    // The same request again.
    expect(textOf((await say(fetch, "", edited)).events)).toBe("1 after 1");
    expect(await log.listBranches("c", { limit: 10 })).toHaveLength(2);
  });

  it("forks if the client shows messages that the chat does not have", async () => {
    const { fetch, log } = await createServerFixture({ script });
    await say(fetch, "1", submit);
    const messages = [user("x1", "Another"), { id: "a1", role: "assistant", parts: [] }, user("u2", "2")];
    const { events } = await say(fetch, "", { ...submit, messages });
    expect(parse(events[0] as SseEvent)).toMatchObject({ data: { code: "new_version" } });
    expect(await log.listBranches("c", { limit: 10 })).toHaveLength(2);
  });

  it("keeps runs that no message of such a client started", async () => {
    const { fetch, ask } = await createServerFixture({ script });
    await ask("POST", "/v1/sessions/c/runs", { message: "Prepare" }, { status: 202 });
    expect(textOf((await say(fetch, "1", submit)).events)).toBe("1 after 3");
    const edited = { ...submit, messages: [omitting("u2", "One")] };
    expect(textOf((await say(fetch, "", edited)).events)).toBe("2 after 3");
  });

  it("appends the message if others have no ID", async () => {
    const { fetch, log } = await createServerFixture({ script });
    await say(fetch, "1", submit);
    const messages = [{ role: "user", parts: [] }, user("u2", "2")];
    expect(textOf((await say(fetch, "", { ...submit, messages })).events)).toBe("1 after 3");
    expect(await log.listBranches("c", { limit: 10 })).toHaveLength(1);
  });

  it("answers again in the version of the question", async () => {
    const { fetch, log } = await createServerFixture({ script });
    await say(fetch, "1", submit);
    await say(fetch, "", { ...submit, messages: [omitting("u2", "2")] });
    const again = async () => textOf((await say(fetch, "1", { trigger: "regenerate-message" })).events);
    expect(await again()).toBe("2 after 1");
    expect(await log.listBranches("c", { limit: 10 })).toHaveLength(3);
  });
});

describe("tools that the client carries out", () => {
  const tools = { locate: { description: "Returns the position.", parameters: { type: "object" } } };

  it("waits for the result in the next request, and uses it once", async () => {
    const script = [{ calls: [{ name: "locate", input: {}, id: "t1" }] }, { text: "You are here." }];
    const { fetch, log } = await createServerFixture({ script });
    const { events } = await say(fetch, "Where am I?", { tools });
    expect(parse(events.at(-1) as SseEvent)).toMatchObject({ type: "finish", finishReason: "tool-calls" });
    const [run] = await log.listRuns("c");
    const part = {
      type: "tool-locate",
      toolCallId: "t1",
      state: "output-available",
      input: {},
      output: { at: [1, 2] },
    };
    const result = { id: run?.runId, role: "assistant", parts: [part] };
    const send = async () =>
      readSse(await fetch("/api/chat", post({ id: "c", messages: [user("u1", "Where am I?"), result] })));
    const rest = await send();
    expect(textOf(rest)).toBe("You are here.");
    expect(await send()).toEqual(rest);
    expect((await log.listRuns("c")).map(({ status }) => status)).toEqual(["completed"]);
  });

  it.each([
    ["", { finishReason: "tool-calls" }],
    ["?version=6", { finishReason: "tool-calls" }],
    ["?version=5", {}],
  ])("sends the form of the client's version: %j", async (query, end) => {
    const { fetch, log } = await createServerFixture({ script: [{ calls: [{ name: "locate", input: {} }] }] });
    const response = await fetch(`/api/chat${query}`, post({ id: "c", messages: [user("u1", "Where?")], tools }));
    const events = await readSse(response);
    expect(parse(events.at(-1) as SseEvent)).toEqual({ type: "finish", ...end });
    // The ID of the stream names the version.
    const again = await fetch(`/api/chat/${response.headers.get("x-workflow-run-id")}/stream`);
    expect(await readSse(again)).toEqual(events);
    const { texts } = await log.read("c", { after: 0, limit: 1 });
    const { capabilities } = JSON.parse(texts[0] ?? "") as JsonObject;
    expect(capabilities).toEqual(query === "?version=5" ? ["tools"] : undefined);
  });

  it.each(["4", "8", "x"])("refuses the unknown version %s", async (version) => {
    const { fetch } = await createServerFixture();
    const request = post({ id: "c", messages: [user("u1", "Hi")] });
    expect((await fetch(`/api/chat?version=${version}`, request)).status).toBe(400);
  });
});
