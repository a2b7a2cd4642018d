// `useChat` of the AI SDK with each transport, unmodified, against a server.
import {
  DefaultChatTransport,
  isToolUIPart,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
  type UIMessage,
} from "ai";
import { beforeEach, describe, expect, it, type Mock, onTestFinished, vi } from "vitest";
import { openCredentials } from "../../src/server/auth/credentials/open-credentials.ts";
import { sampleCases } from "../sampling.ts";
import {
  createDefaultTransport,
  renderChat,
  startChatServer,
  textOf,
  toPlain,
  TRANSPORTS,
  useDom,
} from "./chat-fixture.ts";

const REMOVE = [
  { text: "Let me see. ", calls: [{ name: "remove", input: { path: "x" }, id: "t1" }] },
  { text: "Removed." },
];

const WAIT = { timeout: 25_000 };

type OnData = (part: { readonly type: string; readonly data: unknown }) => void;

/** Codes of the notices among the data that a chat received. */
function noticesOf(onData: Mock<OnData>): readonly unknown[] {
  const parts = onData.mock.calls.flat().filter(({ type }) => type === "data-loom-notice");
  return parts.map(({ data }) => (data as { readonly code: string }).code);
}

beforeEach(useDom);

describe.each(sampleCases(Object.entries(TRANSPORTS)))("useChat with %s", (_name, createTransport) => {
  it("shows reasoning, tools and the answer, and the next turn, as the server lists them", async () => {
    const script = [
      { reasoning: "They add.", text: "Adding. ", calls: [{ name: "add", input: { a: 1, b: 2 }, id: "t1" }] },
      { text: "It is 3." },
      { text: "You are welcome." },
    ];
    const { api, log, loadMessages } = await startChatServer(script);
    const { run, chat, errors } = await renderChat({ id: "c", transport: createTransport(api) });
    const first = await run(({ sendMessage }) => sendMessage({ text: "1 + 2?" }));
    expect(textOf(first.at(-1))).toBe("Adding. It is 3.");
    expect(first.at(-1)?.parts.find(isToolUIPart)).toMatchObject({ state: "output-available", output: 3 });
    expect(first.at(-1)?.parts.some(({ type }) => type === "reasoning")).toBe(true);
    const second = await run(({ sendMessage }) => sendMessage({ text: "Thanks" }));
    expect(second.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
    expect(textOf(second.at(-1))).toBe("You are welcome.");
    expect(errors).toEqual([]);
    const [session] = await log.listSessions({});
    expect(await loadMessages(session?.sessionId ?? "")).toEqual(toPlain(chat().messages));
  });

  it.each([true, false])("passes on the answer to an approval: %s", async (approved) => {
    const { api, ran, loadMessages, log } = await startChatServer(REMOVE);
    const { run, chat, errors } = await renderChat({
      id: "c",
      transport: createTransport(api),
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
    });
    const waiting = await run(({ sendMessage }) => sendMessage({ text: "Remove x" }));
    expect(waiting.at(-1)?.parts.find(isToolUIPart)).toMatchObject({ state: "approval-requested" });
    expect(ran).toEqual([]);
    await run(({ addToolApprovalResponse }) => addToolApprovalResponse({ id: "t1", approved }));
    await vi.waitFor(() => expect(textOf(chat().messages.at(-1))).toBe("Let me see. Removed."), { timeout: 25_000 });
    expect(chat().messages).toHaveLength(2);
    expect(ran).toEqual(approved ? [["remove", { path: "x" }]] : []);
    expect(errors).toEqual([]);
    const [session] = await log.listSessions({});
    const loaded = await loadMessages(session?.sessionId ?? "");
    expect(loaded.at(-1)?.parts.find(isToolUIPart)?.state).toBe(
      chat().messages.at(-1)?.parts.find(isToolUIPart)?.state,
    );
    expect(await log.listRuns(session?.sessionId ?? "")).toHaveLength(1);
  });

  it("reports an error of the run once, and the chat goes on", async () => {
    const script = [{ text: "Half", fault: { kind: "error", after: 1 } as const }, { text: "Better." }];
    const { api } = await startChatServer(script);
    const { run, errors } = await renderChat({ id: "c", transport: createTransport(api) });
    await run(({ sendMessage }) => sendMessage({ text: "Hi" }), "error");
    expect(errors).toHaveLength(1);
    expect(textOf((await run(({ sendMessage }) => sendMessage({ text: "Again" }))).at(-1))).toBe("Better.");
  });

  it("shows the message in progress after a reload, once", async () => {
    const gate = Promise.withResolvers<void>();
    const script = [{ text: "First." }, { text: "The rest of it.", until: gate.promise }];
    const { api, loadMessages, log } = await startChatServer(script);
    const before = await renderChat({ id: "c", transport: createDefaultTransport(api) });
    await before.run(({ sendMessage }) => sendMessage({ text: "1" }));
    void before.chat().sendMessage({ text: "2" });
    await vi.waitFor(async () => expect(await log.listRuns("c")).toHaveLength(2), { timeout: 25_000 });
    before.unmount();
    const after = await renderChat({
      id: "c",
      transport: createTransport(api),
      messages: await loadMessages("c"),
      resume: true,
    });
    gate.resolve();
    await vi.waitFor(() => expect(textOf(after.chat().messages.at(-1))).toBe("The rest of it."), { timeout: 25_000 });
    expect((await after.settle()).map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
    expect(after.errors).toEqual([]);
    expect(await log.listRuns("c")).toHaveLength(2);
  });

  it("shows one copy of a complete answer after a reload", async () => {
    const { api, loadMessages } = await startChatServer([{ text: "Complete." }]);
    const before = await renderChat({ id: "c", transport: createDefaultTransport(api) });
    const shown = toPlain(await before.run(({ sendMessage }) => sendMessage({ text: "1" })));
    const messages = await loadMessages("c");
    const after = await renderChat({ id: "c", transport: createTransport(api), messages, resume: true });
    await vi.waitFor(() => expect(after.chat().status).toBe("ready"), { timeout: 25_000 });
    expect(toPlain(await after.settle())).toEqual(shown);
  });

  it("resumes a new chat without an answer", async () => {
    const { api } = await startChatServer([]);
    const { settle, errors } = await renderChat({ id: "new", transport: createTransport(api), resume: true });
    expect(await settle()).toEqual([]);
    expect(errors).toEqual([]);
  });

  it("continues the run after the client stops reading, until the stop route cancels it", async () => {
    const { api, log } = await startChatServer([{ text: "Never ends", fault: { kind: "stall", after: 1 } }]);
    const { run, settle, chat } = await renderChat({ id: "c", transport: createTransport(api) });
    await run(({ sendMessage }) => void sendMessage({ text: "Hi" }), "streaming");
    await run(({ stop }) => stop());
    const [session] = await log.listSessions({});
    const id = session?.sessionId ?? "";
    expect((await log.listRuns(id))[0]?.status).toBe("live");
    expect((await fetch(`${api}/${id}/stop`, { method: "POST" })).status).toBe(200);
    await vi.waitFor(async () => expect((await log.listRuns(id))[0]?.status).toBe("cancelled"), { timeout: 25_000 });
    await settle();
    expect(chat().status).toBe("ready");
  });
});

describe("a stopped answer", () => {
  const HALF = { text: "Half of it", chunk: 4, fault: { kind: "stall", after: 1 } } as const;
  const THINKING = { reasoning: "Hm, so", chunk: 2, fault: { kind: "stall", after: 1 } } as const;

  it.each([
    ["text", HALF, "text"],
    ["no text", THINKING, "reasoning"],
  ])("with %s is cancelled by the next message", async (_what, turn, type) => {
    const { api, log } = await startChatServer([turn, { text: "Next." }]);
    const { run, chat, errors } = await renderChat({ id: "c", transport: createDefaultTransport(api) });
    void chat().sendMessage({ text: "1" });
    const hasStarted = (part: UIMessage["parts"][number]): boolean =>
      (part.type === "text" || part.type === "reasoning") && part.type === type && part.text !== "";
    // The first message is the question.
    await vi.waitFor(() => expect(chat().messages[1]?.parts.some(hasStarted)).toBe(true), WAIT);
    await run(({ stop }) => stop());
    expect(textOf((await run(({ sendMessage }) => sendMessage({ text: "2" }))).at(-1))).toBe("Next.");
    expect((await log.listRuns("c")).map(({ status }) => status)).toEqual(["completed", "cancelled"]);
    expect(errors).toEqual([]);
  });

  it("goes on if another tab shows it before its first text, and the next message waits and says so", async () => {
    const gate = Promise.withResolvers<void>();
    const { api, log, loadMessages } = await startChatServer([{ text: "One.", until: gate.promise }, { text: "Two." }]);
    const onData = vi.fn<OnData>();
    const transport = createDefaultTransport(api);
    const stopped = await renderChat({ id: "c", transport, onData });
    void stopped.chat().sendMessage({ text: "1" });
    await vi.waitFor(async () => expect(await log.listRuns("c")).toHaveLength(1), WAIT);
    const other = await renderChat({ id: "c", transport, messages: await loadMessages("c"), resume: true });
    await vi.waitFor(() => expect(other.chat().messages.at(-1)?.role).toBe("assistant"), WAIT);
    await stopped.run(({ stop }) => stop());
    void stopped.chat().sendMessage({ text: "2" });
    await vi.waitFor(() => expect(noticesOf(onData)).toEqual(["queued"]), WAIT);
    gate.resolve();
    await vi.waitFor(() => expect(textOf(stopped.chat().messages.at(-1))).toBe("Two."), WAIT);
    expect(textOf((await other.settle()).at(-1))).toBe("One.");
    expect((await log.listRuns("c")).map(({ status }) => status)).toEqual(["completed", "completed"]);
  });
});

describe.each(sampleCases(Object.entries(TRANSPORTS)))("a stale tab with %s", (_name, createTransport) => {
  it("adds its message to what another tab has added, and gets a notice", async () => {
    const { api, log, loadMessages } = await startChatServer([{ text: "One." }, { text: "Two." }, { text: "Three." }]);
    const tab = await renderChat({ id: "c", transport: createTransport(api) });
    await tab.run(({ sendMessage }) => sendMessage({ text: "1" }));
    // WorkflowChatTransport names no chat, so the server chooses the ID of the session.
    const [{ sessionId } = { sessionId: "" }] = await log.listSessions({});
    const onData = vi.fn<OnData>();
    const messages = await loadMessages(sessionId);
    const stale = await renderChat({ id: "c", transport: createTransport(api), messages, onData });
    await tab.run(({ sendMessage }) => sendMessage({ text: "2" }));
    const shown = await stale.run(({ sendMessage }) => sendMessage({ text: "3" }));
    expect(textOf(shown.at(-1))).toBe("Three.");
    expect(noticesOf(onData)).toEqual(["missed_messages"]);
    expect(await log.listSessions({})).toHaveLength(1);
    expect(await log.listRuns(sessionId)).toHaveLength(3);
    expect((await loadMessages(sessionId)).map(textOf)).toEqual(["1", "One.", "2", "Two.", "3", "Three."]);
  });
});

describe.each(Object.entries(TRANSPORTS))("errors of useChat with %s", (name, createTransport) => {
  // This transport puts its own words before the text of the server.
  const prefixed = (status: number, text: string) =>
    name === "WorkflowChatTransport" ? `Failed to fetch chat: ${status} ${text}` : text;

  it("are sentences of the server", async () => {
    const { api } = await startChatServer([]);
    const { run, chat } = await renderChat({ id: "c", transport: createTransport(api) });
    await run(({ sendMessage }) => sendMessage({ text: "Hi" }, { body: { agent: "other" } }), "error");
    expect(chat().error?.message).toBe(prefixed(404, 'Unknown agent "other"; choose one of: main'));
    await run(({ sendMessage }) => sendMessage({ text: "Hi" }, { body: { id: "x".repeat(300) } }), "error");
    expect(chat().error?.message).toMatch(/^[^{}]+$/);
  });

  it("are sentences also if the server refuses the request before it reads it", async () => {
    const credentials = openCredentials(":memory:");
    onTestFinished(() => credentials.close());
    const { api } = await startChatServer([], { auth: { credentials } });
    const { run, chat } = await renderChat({ id: "c", transport: createTransport(api) });
    await run(({ sendMessage }) => sendMessage({ text: "Hi" }), "error");
    expect(chat().error?.message).toMatch(/^(?:Failed to fetch chat: 401 )?[A-Z][^{}]+$/);
    const asked = await fetch(api, { method: "POST", headers: { accept: "application/json" } });
    expect(await asked.json()).toMatchObject({ code: "unauthorized" });
  });
});

describe("versions and tools of useChat", () => {
  it("answers again, and answers an edited message", async () => {
    const script = (_request: unknown, turn: number) => ({ text: `Answer ${turn}` });
    const { api, loadMessages, log } = await startChatServer(script);
    const { run, chat } = await renderChat({ id: "c", transport: createDefaultTransport(api) });
    const first = await run(({ sendMessage }) => sendMessage({ text: "1" }));
    const [question] = first;
    const text = textOf(first.at(-1));
    const second = await run(({ regenerate }) => regenerate());
    expect(second).toHaveLength(2);
    expect(textOf(second.at(-1))).not.toBe(text);
    await run(({ sendMessage }) => sendMessage({ text: "One", messageId: question?.id ?? "" }));
    expect(chat().messages.map((message) => message.role)).toEqual(["user", "assistant"]);
    expect(textOf(chat().messages[0])).toBe("One");
    expect(await loadMessages("c")).toEqual(toPlain(chat().messages));
    expect(await log.listBranches("c", { limit: 10 })).toHaveLength(3);
    expect(textOf((await run(({ sendMessage }) => sendMessage({ text: "2" }))).at(-1))).toContain("Answer");
    expect(await loadMessages("c")).toEqual(toPlain(chat().messages));
  });

  it("sends the result of a tool that the client carries out", async () => {
    const script = [{ calls: [{ name: "locate", input: {}, id: "t1" }] }, { text: "You are here." }];
    const { api, loadMessages } = await startChatServer(script);
    const tools = { locate: { description: "Returns the position.", parameters: { type: "object" } } };
    const { run, chat, errors } = await renderChat({
      id: "c",
      transport: new DefaultChatTransport({ api, body: { tools } }),
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
    });
    const waiting = await run(({ sendMessage }) => sendMessage({ text: "Where am I?" }));
    expect(waiting.at(-1)?.parts.find(isToolUIPart)).toMatchObject({ state: "input-available" });
    await run(({ addToolOutput }) => addToolOutput({ tool: "locate", toolCallId: "t1", output: { at: [1, 2] } }));
    await vi.waitFor(() => expect(textOf(chat().messages.at(-1))).toBe("You are here."), { timeout: 25_000 });
    expect(chat().messages).toHaveLength(2);
    expect(errors).toEqual([]);
    expect(await loadMessages("c")).toEqual(toPlain(chat().messages));
  });
});

describe("two clients of one chat", () => {
  it("show the same messages", async () => {
    const { api, loadMessages } = await startChatServer([{ text: "Hello, both." }]);
    const first = await renderChat({ id: "c", transport: createDefaultTransport(api) });
    await first.run(({ sendMessage }) => sendMessage({ text: "Hi" }));
    const messages = await loadMessages("c");
    const second = await renderChat({ id: "c", transport: createDefaultTransport(api), messages, resume: true });
    await second.settle();
    expect(toPlain(second.chat().messages)).toEqual(toPlain(first.chat().messages));
  });
});
