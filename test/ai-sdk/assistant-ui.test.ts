// assistant-ui over the endpoint of the AI SDK, unmodified: answers, tools, approvals, stop, resume, versions and errors.
import { createResumableSessionStorage } from "@assistant-ui/react-ai-sdk";
import { lastAssistantMessageIsCompleteWithToolCalls } from "ai";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { type Log, MemoryLog } from "../../src/log/index.ts";
import { listCases } from "../clients/client-cases.ts";
import { startScriptedServer } from "../clients/scripted-server.ts";
import { ASSISTANT_UI } from "./assistant-ui-client.ts";
import { ask, openChat, openPage, settle, textOf, textsOf, WAIT } from "./assistant-ui-fixture.ts";
import { startChatServer, useDom } from "./chat-fixture.ts";

const REMOVE = [
  { text: "Let me see. ", calls: [{ name: "remove", input: { path: "x" }, id: "t1" }] },
  { text: "Done." },
];

/** Answers with the number of messages in the prompt. */
const countMessages = (request: { readonly prompt: readonly unknown[] }, turn: number) => ({
  text: `${turn} after ${request.prompt.length}`,
});

async function findOnlySession(log: Log): Promise<string> {
  const sessions = await log.listSessions({});
  expect(sessions).toHaveLength(1);
  return sessions[0]?.sessionId ?? "";
}

async function statusOf(log: Log): Promise<string | undefined> {
  const [session] = await log.listSessions({});
  const [run] = await log.listRuns(session?.sessionId ?? "");
  return run?.status;
}

/** Resumes the stream that the page before was reading. */
const createResume = (api: string) => ({
  storage: createResumableSessionStorage(),
  resumeApi: (streamId: string) => `${api}/${streamId}/stream`,
});

beforeEach(useDom);

describe("assistant-ui", () => {
  it.each(listCases(ASSISTANT_UI))("has the case: %s", async (_name, run) => {
    const log = new MemoryLog();
    const server = await startScriptedServer(log);
    onTestFinished(() => server.close({ graceMs: 0 }));
    await run(ASSISTANT_UI, { ...server, log });
  });

  it("shows the answer with its tools, and the next turn", async () => {
    const script = [
      { reasoning: "They add.", text: "Adding. ", calls: [{ name: "add", input: { a: 1, b: 2 }, id: "t1" }] },
      { text: "It is 3." },
      { text: "You are welcome." },
    ];
    const { api, log } = await startChatServer(script);
    const { thread } = await openPage({ api });
    const first = await ask(thread, "1 + 2?");
    expect(textOf(first.at(-1))).toBe("Adding. It is 3.");
    expect(first.at(-1)?.content.find(({ type }) => type === "tool-call")).toMatchObject({
      toolName: "add",
      result: 3,
    });
    const second = await ask(thread, "Thanks");
    expect(second).toHaveLength(4);
    expect(textOf(second.at(-1))).toBe("You are welcome.");
    expect(await log.listRuns(await findOnlySession(log))).toHaveLength(2);
  });

  it("cancels a run that waits when the user writes a message instead", async () => {
    const { api, log, ran } = await startChatServer([REMOVE[0] ?? {}, { text: "Fine." }]);
    const { thread, errors } = await openPage({ api });
    await ask(thread, "Remove x", "requires-action");
    expect(textOf((await ask(thread, "Never mind")).at(-1))).toBe("Fine.");
    const runs = await log.listRuns(await findOnlySession(log));
    expect(runs.map(({ status }) => status)).toEqual(["completed", "cancelled"]);
    expect(ran).toEqual([]);
    expect(errors).toEqual([]);
  });

  it("carries out a tool of the page, and sends its result once", async () => {
    const script = [{ calls: [{ name: "locate", input: { zoom: 2 }, id: "t1" }] }, { text: "You are here." }];
    const { api, log } = await startChatServer(script);
    const sendAutomaticallyWhen = lastAssistantMessageIsCompleteWithToolCalls;
    const { runtime, thread, errors } = await openPage({ api }, { sendAutomaticallyWhen });
    const ran: unknown[] = [];
    const locate = {
      type: "frontend" as const,
      description: "Returns the position.",
      parameters: { type: "object" as const, properties: { zoom: { type: "number" as const } } },
      execute: (input: unknown) => {
        ran.push(input);
        return { at: [1, 2] };
      },
    };
    runtime.registerModelContextProvider({ getModelContext: () => ({ tools: { locate } }) });
    thread.append("Where am I?");
    await vi.waitFor(() => expect(textOf(thread.getState().messages.at(-1))).toBe("You are here."), WAIT);
    const messages = await settle(thread);
    expect(messages).toHaveLength(2);
    expect(messages.at(-1)?.content.find(({ type }) => type === "tool-call")).toMatchObject({
      toolName: "locate",
      result: { at: [1, 2] },
    });
    expect(ran).toEqual([{ zoom: 2 }]);
    expect(errors).toEqual([]);
    expect(await log.listRuns(await findOnlySession(log))).toHaveLength(1);
  });
});

describe("stop in assistant-ui", () => {
  const STALLED = [{ text: "Never ends", fault: { kind: "stall", after: 1 } }, { text: "Next." }] as const;

  it.each([
    ["continues the run", "", "live"],
    ["cancels the run with on_disconnect=cancel", "?on_disconnect=cancel", "cancelled"],
  ])("%s", async (_name, query, status) => {
    const { api, log } = await startChatServer(STALLED);
    const { thread, errors } = await openPage({ api: api + query });
    thread.append("Hi");
    await vi.waitFor(() => expect(textOf(thread.getState().messages.at(-1))).toBe("Neve"), WAIT);
    thread.cancelRun();
    await settle(thread, "incomplete");
    await vi.waitFor(async () => expect(await statusOf(log)).toBe(status), WAIT);
    expect(errors).toEqual([]);
    expect(textOf((await ask(thread, "Again")).at(-1))).toBe("Next.");
    expect(await log.listRuns(await findOnlySession(log))).toHaveLength(2);
  });
});

describe("a page of assistant-ui that is reloaded", () => {
  it("resumes the stream that it was reading", async () => {
    const gate = Promise.withResolvers<void>();
    const script = [
      { text: "Adding. ", calls: [{ name: "add", input: { a: 1, b: 2 }, id: "t1" }] },
      { text: "It is 3.", until: gate.promise },
    ];
    const { api, log } = await startChatServer(script);
    const before = await openPage({ api, resumable: createResume(api) });
    before.thread.append("1 + 2?");
    await vi.waitFor(() => expect(textOf(before.thread.getState().messages.at(-1))).toBe("Adding. "), WAIT);
    before.close();
    const { thread, errors } = await openPage({ api, resumable: createResume(api) });
    await vi.waitFor(() => expect(textsOf(thread)).toEqual(["Adding. "]), WAIT);
    gate.resolve();
    await vi.waitFor(() => expect(textsOf(thread)).toEqual(["Adding. It is 3."]), WAIT);
    await settle(thread);
    expect(errors).toEqual([]);
    expect(await log.listRuns(await findOnlySession(log))).toHaveLength(1);
    // The stream has ended: another page has nothing to resume.
    const { thread: empty } = await openPage({ api, resumable: createResume(api) });
    expect(empty.getState().messages).toEqual([]);
  });

  it("shows the whole chat, the message in progress once, and goes on in the same session", async () => {
    const gate = Promise.withResolvers<void>();
    const script = [{ text: "One." }, { text: "Two.", until: gate.promise }, { text: "Three." }];
    const { api, log, loadMessages } = await startChatServer(script);
    const before = await openChat(api, "c", await loadMessages("c"));
    await ask(before.thread, "1");
    before.thread.append("2");
    await vi.waitFor(async () => expect(await log.listRuns("c")).toHaveLength(2), WAIT);
    before.close();
    const { thread, errors } = await openChat(api, "c", await loadMessages("c"));
    gate.resolve();
    await vi.waitFor(() => expect(textsOf(thread)).toEqual(["1", "One.", "2", "Two."]), WAIT);
    await settle(thread);
    await ask(thread, "3");
    expect(textsOf(thread)).toEqual(["1", "One.", "2", "Two.", "3", "Three."]);
    expect(errors).toEqual([]);
    expect(await findOnlySession(log)).toBe("c");
  });
});

describe("versions in assistant-ui", () => {
  async function startChat() {
    const { api, log } = await startChatServer(countMessages);
    const { thread, errors } = await openPage({ api });
    await ask(thread, "1");
    await ask(thread, "2");
    const [root] = await log.listSessions({});
    const id = root?.sessionId ?? "";
    const count = async () => (await log.listBranches(id, { limit: 100 })).length;
    /** Waits until the page shows these texts and is idle. */
    const show = async (texts: readonly string[]): Promise<void> => {
      await vi.waitFor(() => expect(textsOf(thread)).toEqual(texts), WAIT);
      await settle(thread);
      expect(errors).toEqual([]);
    };
    const edit = (index: number, text: string): void => {
      const { composer } = thread.getMessageByIndex(index);
      composer.beginEdit();
      composer.setText(text);
      composer.send();
    };
    await show(["1", "0 after 1", "2", "1 after 3"]);
    return { thread, count, show, edit };
  }

  it("answers again in a new version, and the conversation goes on there", async () => {
    const { thread, count, show } = await startChat();
    thread.getMessageByIndex(3).reload();
    await show(["1", "0 after 1", "2", "2 after 3"]);
    expect(await count()).toBe(2);
    await ask(thread, "3");
    await show(["1", "0 after 1", "2", "2 after 3", "3", "3 after 5"]);
    expect(await count()).toBe(2);
  });

  it.each([
    [2, ["1", "0 after 1", "Two", "2 after 3"]],
    [0, ["Two", "2 after 1"]],
  ])("answers the edited message %i without what followed it", async (index, texts) => {
    const { thread, count, show, edit } = await startChat();
    edit(index, "Two");
    await show(texts);
    expect(await count()).toBe(2);
    await ask(thread, "3");
    await show([...texts, "3", `3 after ${texts.length + 1}`]);
    expect(await count()).toBe(2);
  });

  it.each([2, 0])("continues the version that the user returns to after an edit of message %i", async (index) => {
    const { thread, show, edit } = await startChat();
    edit(index, "Two");
    await vi.waitFor(() => expect(textsOf(thread).at(-1)).toMatch(/^2 after/), WAIT);
    await settle(thread);
    thread.getMessageByIndex(index).switchToBranch({ position: "previous" });
    await show(["1", "0 after 1", "2", "1 after 3"]);
    await ask(thread, "3");
    await show(["1", "0 after 1", "2", "1 after 3", "3", "3 after 5"]);
    thread.getMessageByIndex(index).switchToBranch({ position: "next" });
    await vi.waitFor(() => expect(textsOf(thread).at(-1)).toMatch(/^2 after/), WAIT);
    thread.getMessageByIndex(index + 1).reload();
    await vi.waitFor(() => expect(textsOf(thread).at(-1)).toBe(`4 after ${index + 1}`), WAIT);
    await settle(thread);
  });
});

describe("a stale tab of assistant-ui", () => {
  it("begins a new version with its message, and gets a notice", async () => {
    const { api, log, loadMessages } = await startChatServer(countMessages);
    const tab = await openChat(api, "c", []);
    await ask(tab.thread, "1");
    const onData = vi.fn<(part: { readonly type: string; readonly data: unknown }) => void>();
    const stale = await openChat(api, "c", await loadMessages("c"), { onData });
    await settle(stale.thread);
    await ask(tab.thread, "2");
    await ask(stale.thread, "3");
    expect(textsOf(stale.thread)).toEqual(["1", "0 after 1", "3", "2 after 3"]);
    const notices = onData.mock.calls.flat().filter(({ type }) => type === "data-loom-notice");
    expect(notices.map(({ data }) => data)).toMatchObject([{ code: "new_version" }]);
    expect([...tab.errors, ...stale.errors]).toEqual([]);
    expect(await log.listBranches("c", { limit: 10 })).toHaveLength(2);
  });
});

describe("errors in assistant-ui", () => {
  it("shows the error of a run, and the chat goes on", async () => {
    const script = [{ text: "Half", fault: { kind: "error", after: 1 } as const }, { text: "Better." }];
    const { api, log } = await startChatServer(script);
    const { thread, errors } = await openPage({ api });
    const messages = await ask(thread, "Hi", "incomplete");
    expect(messages.at(-1)?.status).toMatchObject({ type: "incomplete", reason: "error" });
    expect(errors).toHaveLength(1);
    expect(textOf((await ask(thread, "Again")).at(-1))).toBe("Better.");
    expect(await log.listRuns(await findOnlySession(log))).toHaveLength(2);
  });

  it("shows why a request was refused, and the chat goes on", async () => {
    const { api } = await startChatServer([{ text: "Hello." }]);
    let query = "?agent=unknown";
    const { thread, errors } = await openPage({
      api,
      prepareSendMessagesRequest: ({ body, id, messages }) => ({ api: api + query, body: { ...body, id, messages } }),
    });
    thread.append("Hi");
    await vi.waitFor(() => expect(errors).toHaveLength(1), WAIT);
    expect(errors[0]?.message).toMatch(/agent/i);
    query = "";
    thread.append("Again");
    await vi.waitFor(() => expect(textsOf(thread).at(-1)).toBe("Hello."), WAIT);
    await settle(thread);
  });
});
