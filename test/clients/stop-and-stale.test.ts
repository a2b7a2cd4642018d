// The stop buttons of AG-UI and TanStack AI only close the connection. What the next message does to the run, and to the
// messages that another tab has added.
import type { BaseEvent, HttpAgent, Message } from "@ag-ui/client";
import { ChatClient, fetchHttpStream, fetchServerSentEvents } from "@tanstack/ai-client";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Log } from "../../src/log/index.ts";
import type { ScriptedTurn } from "../../src/models/scripted-model.ts";
import { say, startAgUiServer, VERSIONS } from "./ag-ui-fixture.ts";

const STALLED: ScriptedTurn = { text: "Half of it", chunk: 4, fault: { kind: "stall", after: 1 } };
const THINKING: ScriptedTurn = { reasoning: "Hm, so", chunk: 2, fault: { kind: "stall", after: 1 } };
const WAIT = { timeout: 20_000 };

/** Newest first. */
async function listStatuses(log: Log): Promise<readonly string[]> {
  return (await log.listRuns("t")).map(({ status }) => status);
}

/** The notices that a run of the client receives. */
function collectNotices(client: HttpAgent): unknown[] {
  const codes: unknown[] = [];
  client.subscribe({
    onEvent: ({ event }: { event: BaseEvent }) => {
      const { name, value } = event as BaseEvent & { name?: string; value?: { code?: string } };
      if (name === "loom.notice") codes.push(value?.code);
    },
  });
  return codes;
}

const userTexts = (messages: readonly Message[]): readonly unknown[] =>
  messages.flatMap(({ role, content }) => (role === "user" ? [content] : []));

beforeEach(() => void vi.spyOn(console, "error").mockReturnValue());
afterEach(() => void vi.restoreAllMocks());

describe.each(VERSIONS)("HttpAgent %s", (_version, Agent) => {
  test.each([
    ["text", STALLED],
    ["no text", THINKING],
  ])("cancels a stopped run with %s by the next message", async (_what, turn) => {
    const { url, log } = await startAgUiServer([turn, { text: "Next." }]);
    const client = new Agent({ url, threadId: "t" });
    const codes = collectNotices(client);
    const isShown = turn === STALLED ? "TEXT_MESSAGE_CONTENT" : "REASONING_MESSAGE_CONTENT";
    const resolveIfShown = (type: string, resolve: (value?: unknown) => void): void => {
      if (type === isShown) resolve();
    };
    const shown = new Promise((resolve) => {
      client.subscribe({ onEvent: ({ event }) => resolveIfShown(event.type, resolve) });
    });
    void say(client, "1").catch(() => undefined);
    await shown;
    client.abortRun();
    await vi.waitFor(() => expect(client.isRunning).toBe(false), WAIT);
    expect((await say(client, "2")).result).toBe("Next.");
    expect(await listStatuses(log)).toEqual(["completed", "cancelled"]);
    expect(codes).toEqual([]);
  });

  test("waits behind the run that another tab reads, and gets a notice", async () => {
    const gate = Promise.withResolvers<void>();
    const { url, log } = await startAgUiServer([{ text: "First.", until: gate.promise }, { text: "Second." }]);
    const one = new Agent({ url, threadId: "t" });
    const first = say(one, "1");
    await vi.waitFor(async () => expect(await listStatuses(log)).toEqual(["live"]), WAIT);
    const two = new Agent({ url, threadId: "t" });
    const codes = collectNotices(two);
    two.addMessage({ id: "of-two", role: "user", content: "2" });
    const second = two.runAgent();
    await vi.waitFor(() => expect(codes).toEqual(["queued"]), WAIT);
    gate.resolve();
    expect([(await first).result, (await second).result]).toEqual(["First.", "Second."]);
    expect(await listStatuses(log)).toEqual(["completed", "completed"]);
  });

  test("adds the message of a stale tab to what another tab has added", async () => {
    const { url, log } = await startAgUiServer([{ text: "One." }, { text: "Two." }, { text: "Three." }, {}]);
    const tab = new Agent({ url, threadId: "t" });
    await say(tab, "1");
    const stale = new Agent({ url, threadId: "t", initialMessages: [...tab.messages] });
    tab.addMessage({ id: "of-tab", role: "user", content: "2" });
    await tab.runAgent();
    const codes = collectNotices(stale);
    stale.addMessage({ id: "of-stale", role: "user", content: "3" });
    expect((await stale.runAgent()).result).toBe("Three.");
    expect(codes).toEqual(["missed_messages"]);
    expect(userTexts(stale.messages)).toEqual(["1", "2", "3"]);
    stale.addMessage({ id: "more", role: "user", content: "4" });
    await stale.runAgent();
    expect(codes).toHaveLength(1);
    expect(await log.listBranches("t", {})).toHaveLength(1);
    expect(await listStatuses(log)).toHaveLength(4);
  });

  /** A tab that shows an answer, and another one that asks for a new one. Both answers have the same message ID. */
  async function openReplaced(turn: ScriptedTurn) {
    const { url, log } = await startAgUiServer([{ text: "One." }, turn, { text: "Two." }]);
    const stale = new Agent({ url, threadId: "t" });
    await say(stale, "1");
    const again = new Agent({ url, threadId: "t", initialMessages: stale.messages.slice(0, 1) }).runAgent();
    const listNewest = async () => {
      const [, newest] = await log.listBranches("t", {});
      return (await log.listRuns(newest?.sessionId ?? "none")).map(({ status }) => status);
    };
    const codes = collectNotices(stale);
    stale.addMessage({ id: "2", role: "user", content: "2" });
    return { stale, again, codes, listNewest };
  }

  test("shows the answer that another tab requested instead of that of a stale tab", async () => {
    const { stale, again, codes, listNewest } = await openReplaced({ text: "Uno." });
    await again;
    await stale.runAgent();
    expect(codes).toEqual(["missed_messages"]);
    expect(stale.messages.map(({ content }) => content)).toEqual(["1", "Uno.", "2", "Two."]);
    expect(await listNewest()).toEqual(["completed", "completed"]);
  });

  test("does not cancel the answer that another tab requested by a message of a stale tab", async () => {
    const gate = Promise.withResolvers<void>();
    const { stale, again, codes, listNewest } = await openReplaced({ text: "Uno.", until: gate.promise });
    await vi.waitFor(async () => expect(await listNewest()).toEqual(["live"]), WAIT);
    const second = stale.runAgent();
    await vi.waitFor(() => expect(codes).toEqual(["queued"]), WAIT);
    gate.resolve();
    expect([(await again).result, (await second).result]).toEqual(["Uno.", "Two."]);
    expect(await listNewest()).toEqual(["completed", "completed"]);
  });
});

describe.each([
  ["server-sent events", (url: string) => fetchServerSentEvents(url)],
  ["NDJSON", (url: string) => fetchHttpStream(`${url}?framing=ndjson`)],
])("TanStack AI over %s", (_form, connect) => {
  /** A tab with the thread, as far as the server has it, and the notices that it receives. */
  async function openTab(url: string) {
    const codes: unknown[] = [];
    const onCustomEvent = (name: string, value: unknown): void => {
      if (name === "loom.notice") codes.push((value as { readonly code: string }).code);
    };
    const client = new ChatClient({ connection: connect(url), threadId: "t", persistence: true, onCustomEvent });
    client.attach();
    await vi.waitFor(() => expect(client.getStatus()).toBe("ready"), WAIT);
    return { client, codes };
  }

  const textsOf = (client: ChatClient): readonly string[] =>
    client.getMessages().map(({ parts }) => parts.map((part) => (part.type === "text" ? part.content : "")).join(""));

  test.each([
    ["text", STALLED],
    ["no text", THINKING],
  ])("cancels a stopped run with %s by the next message", async (_what, turn) => {
    const { url, log } = await startAgUiServer([turn, { text: "Next." }]);
    const client = new ChatClient({ connection: connect(url), threadId: "t" });
    void client.sendMessage("1");
    const isShown = (): boolean => {
      const [, answer] = client.getMessages();
      const type = turn === STALLED ? "text" : "thinking";
      return (answer?.parts ?? []).some(
        (part) => (part.type === "text" || part.type === "thinking") && part.type === type && part.content !== "",
      );
    };
    await vi.waitFor(() => expect(isShown()).toBe(true), WAIT);
    client.stop();
    await client.sendMessage("2");
    expect(client.getMessages().at(-1)?.parts).toMatchObject([{ type: "text", content: "Next." }]);
    expect(await listStatuses(log)).toEqual(["completed", "cancelled"]);
  });

  test("waits behind the run that another tab reads, and gets a notice", async () => {
    const gate = Promise.withResolvers<void>();
    const { url, log } = await startAgUiServer([{ text: "First.", until: gate.promise }, { text: "Second." }]);
    const [one, two] = [await openTab(url), await openTab(url)];
    const first = one.client.sendMessage("1");
    await vi.waitFor(async () => expect(await listStatuses(log)).toEqual(["live"]), WAIT);
    const second = two.client.sendMessage("2");
    await vi.waitFor(() => expect(two.codes).toEqual(["queued"]), WAIT);
    gate.resolve();
    await Promise.all([first, second]);
    expect([textsOf(one.client).at(-1), textsOf(two.client).at(-1)]).toEqual(["First.", "Second."]);
    expect(await listStatuses(log)).toEqual(["completed", "completed"]);
  });

  test("adds the message of a stale tab to what another tab has added", async () => {
    const { url, log } = await startAgUiServer([{ text: "One." }, { text: "Two." }, { text: "Three." }]);
    const tab = await openTab(url);
    await tab.client.sendMessage("1");
    const stale = await openTab(url);
    await vi.waitFor(() => expect(textsOf(stale.client)).toEqual(["1", "One."]), WAIT);
    await tab.client.sendMessage("2");
    await stale.client.sendMessage("3");
    expect(textsOf(stale.client)).toEqual(["1", "One.", "2", "Two.", "3", "Three."]);
    expect(stale.codes).toEqual(["missed_messages"]);
    expect(await log.listBranches("t", {})).toHaveLength(1);
  });
});
