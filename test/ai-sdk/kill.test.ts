// `loom serve` is killed with SIGKILL in the middle of answers: after a restart, `useChat` ends with the messages that the
// server lists, in a page that stayed open and in one that was reloaded.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { UIMessage } from "ai";
import { afterAll, beforeEach, expect, it, onTestFinished, vi } from "vitest";
import { KILL_SAMPLES, LONG, sampleCases } from "../sampling.ts";
import { startFaultProxy } from "../server/fault-proxy.ts";
import { killServers, type ServerProcess, startServe } from "../start-serve.ts";
import { renderChat, textOf, toPlain, TRANSPORTS, useDom } from "./chat-fixture.ts";

/** A process may need long to start on a busy machine. */
const WAIT = { timeout: 120_000, interval: 20 };
const WORD_MS = 30;

const folder = mkdtempSync(join(tmpdir(), "loom-ai-sdk-kill-"));
afterAll(() => {
  killServers();
  rmSync(folder, { recursive: true, force: true });
});

beforeEach(useDom);

/** How the user of each chat returns to it. The first two are the ones in the guide. */
const WAYS = [
  { transport: "LoomChatTransport", isReloaded: false },
  { transport: "DefaultChatTransport", isReloaded: true },
  { transport: "LoomChatTransport", isReloaded: true },
  { transport: "DefaultChatTransport", isReloaded: false },
  { transport: "WorkflowChatTransport", isReloaded: true },
] as const;
const WAYS_USED = sampleCases(WAYS, { perKind: KILL_SAMPLES.chats });

/** A server at one address and on one store, in one process after the other. */
async function startKillableServer() {
  let current: ServerProcess | undefined;
  const proxy = await startFaultProxy(
    () => current?.url ?? "http://127.0.0.1:9",
    () => undefined,
  );
  onTestFinished(() => proxy.close());
  const start = async (): Promise<void> => {
    const args = ["--hosts", `127.0.0.1:${proxy.port}`, "--offline-delay", String(WORD_MS)];
    current = await startServe(join(folder, "loom.db"), args);
  };
  const kill = async (): Promise<void> => {
    const killed = current;
    current = undefined;
    killed?.process.kill("SIGKILL");
    await killed?.ended;
  };
  await start();
  return { api: `${proxy.url}/api/chat`, start, kill };
}

function lengthOfAnswer(messages: readonly UIMessage[]): number {
  return textOf(messages.find(({ role }) => role === "assistant")).length;
}

// `npm test` restarts the server of `useChat` in client-tools.test.ts, and kills it in ../openai/kill.test.ts.
it.runIf(LONG)("shows the messages of the server after each of many kills", { timeout: 1_200_000 }, async () => {
  const { api, start, kill } = await startKillableServer();
  const loadMessages = async (id: string): Promise<UIMessage[]> =>
    (await (await fetch(`${api}/${id}/messages`)).json()) as UIMessage[];
  for (let index = 0; index < KILL_SAMPLES.chats; index++) {
    const { transport, isReloaded } = WAYS_USED[index % WAYS_USED.length] as (typeof WAYS)[number];
    const what = `chat ${index}, ${transport}, ${isReloaded ? "reloaded" : "open"}`;
    const id = `chat-${index}`;
    // `WorkflowChatTransport` does not send the ID of the chat, so another transport starts it.
    const first = transport === "WorkflowChatTransport" ? "DefaultChatTransport" : transport;
    const open = async (name: string, messages: UIMessage[] = []) =>
      renderChat({
        id,
        messages,
        resume: messages.length > 0,
        transport: TRANSPORTS[name]?.(api) as NonNullable<ReturnType<(typeof TRANSPORTS)[string]>>,
      });
    let page = await open(first);
    void page.chat().sendMessage({ text: "What can you do?" });
    const shown = Math.floor(Math.random() * 100);
    await vi.waitFor(() => expect(lengthOfAnswer(page.chat().messages), what).toBeGreaterThan(shown), WAIT);
    expect(page.chat().status, what).toBe("streaming");
    await kill();
    if (isReloaded) page.unmount();
    await start();
    if (isReloaded) page = await open(transport, await loadMessages(id));
    else if (transport === "DefaultChatTransport") {
      await vi.waitFor(() => expect(page.chat().status).toBe("error"), WAIT);
      await page.chat().resumeStream();
    }
    const { chat } = page;
    await vi.waitFor(async () => {
      expect(chat().status, what).toBe("ready");
      const loaded = await loadMessages(id);
      expect(loaded.map(({ role }) => role)).toEqual(["user", "assistant"]);
      expect(toPlain(chat().messages), what).toEqual(loaded);
    }, WAIT);
    expect(lengthOfAnswer(chat().messages)).toBeGreaterThan(shown);
    const { runs } = (await (await fetch(`${api.replace("/api/chat", "")}/v1/sessions/${id}/runs`)).json()) as {
      readonly runs: readonly { readonly status: string }[];
    };
    expect(runs.map(({ status }) => status)).toEqual(["completed"]);
    page.unmount();
  }
});
