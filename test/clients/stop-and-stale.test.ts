// The stop buttons of AG-UI and TanStack AI only close the connection. What the next message does to the run, and to the
// messages that another tab has added.
import type { BaseEvent, HttpAgent, Message } from "@ag-ui/client";
import { ChatClient, fetchServerSentEvents } from "@tanstack/ai-client";
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
});

describe("TanStack AI", () => {
  test.each([
    ["text", STALLED],
    ["no text", THINKING],
  ])("cancels a stopped run with %s by the next message", async (_what, turn) => {
    const { url, log } = await startAgUiServer([turn, { text: "Next." }]);
    const client = new ChatClient({ connection: fetchServerSentEvents(url), threadId: "t" });
    void client.sendMessage("1");
    await vi.waitFor(() => expect(client.getMessages().at(-1)?.parts.length).toBeGreaterThan(0), WAIT);
    await vi.waitFor(() => expect(client.getMessages().at(-1)?.role).toBe("assistant"), WAIT);
    client.stop();
    await client.sendMessage("2");
    expect(client.getMessages().at(-1)?.parts).toMatchObject([{ type: "text", content: "Next." }]);
    expect(await listStatuses(log)).toEqual(["completed", "cancelled"]);
  });
});
