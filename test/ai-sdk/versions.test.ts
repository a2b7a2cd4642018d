// Clients of the AI SDK in several versions, unmodified, on one server: none of them ends with an error, and each shows
// what it can.
import {
  isToolUIPart,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
  type UIMessage,
} from "ai";
import { afterEach, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { z } from "zod";
import { MemoryLog } from "../../src/log/index.ts";
import { defineTool } from "../../src/tools/define-tool.ts";
import type { CaseName } from "../clients/client-cases.ts";
import { gateOf, PIXEL, startScriptedServer } from "../clients/scripted-server.ts";
import { sampleCases } from "../sampling.ts";
import { startFaultProxy } from "../server/fault-proxy.ts";
import {
  openSdkChat,
  SDK_CLIENTS,
  SDK_RELEASES,
  type SdkChat,
  type SdkClient,
  WORKFLOW_CLIENT,
} from "./sdk-versions.ts";

const WAIT = { timeout: 25_000, interval: 5 };
/** Has no `execute`, so a client carries out its calls. */
const locate = defineTool({ name: "locate", description: "Returns the position.", input: z.object({}) });
const log = new MemoryLog();
let api = "";

const startServer = (hosts: readonly string[] = []) => startScriptedServer(log, { hosts, moreTools: [locate] });

beforeAll(async () => {
  const server = await startServer();
  api = `${server.url}/api/chat`;
  return () => server.close({ graceMs: 0 });
});
// A transport writes each cut to the console.
beforeEach(() => void vi.spyOn(console, "error").mockReturnValue());
afterEach(() => void vi.restoreAllMocks());

/** A page of one client. It sends answers by itself, as the guide shows. */
class Page {
  readonly chat: SdkChat;
  readonly errors: readonly Error[];
  /** Codes of the notices that it received. */
  readonly notices: string[] = [];

  constructor(client: SdkClient, id: string, messages: UIMessage[] = [], url = api) {
    const transport = client.createTransport(url);
    const sendAutomaticallyWhen: typeof lastAssistantMessageIsCompleteWithToolCalls = (options) =>
      lastAssistantMessageIsCompleteWithToolCalls(options) ||
      lastAssistantMessageIsCompleteWithApprovalResponses(options);
    const onData = ({ type, data }: { readonly type: string; readonly data: unknown }): void => {
      if (type === "data-loom-notice") this.notices.push((data as { readonly code: string }).code);
    };
    const { chat, errors } = openSdkChat(client, { id, messages, transport, sendAutomaticallyWhen, onData });
    this.chat = chat;
    this.errors = errors;
  }

  get answer(): UIMessage | undefined {
    return this.chat.messages.findLast(({ role }) => role === "assistant");
  }

  get text(): string {
    return (this.answer?.parts ?? []).map((part) => (part.type === "text" ? part.text : "")).join("");
  }

  get call() {
    return this.answer?.parts.findLast(isToolUIPart);
  }

  send(text: string): Promise<void> {
    return this.chat.sendMessage({ text });
  }

  async settle(text: string): Promise<void> {
    await vi.waitFor(() => expect([this.chat.status, this.text]).toEqual(["ready", text]), WAIT);
    expect(this.errors).toEqual([]);
  }
}

async function load(session: string): Promise<UIMessage[]> {
  return (await (await fetch(`${api}/${session}/messages`)).json()) as UIMessage[];
}

/** Waits for the session of a new chat. `WorkflowChatTransport` sends no ID, so the server chooses one. */
async function findSession({ chat }: Page): Promise<string> {
  return vi.waitFor(async () => {
    for (const { sessionId } of await log.listSessions({}))
      for (const { requestId } of await log.listRuns(sessionId))
        if (requestId === chat.messages[0]?.id) return sessionId;
    throw new Error("No run answers the message");
  }, WAIT);
}

async function statesOf(session: string): Promise<readonly string[]> {
  return (await log.listRuns(session)).map(({ status }) => status);
}

async function cancel(page: Page): Promise<void> {
  expect((await fetch(`${api}/${await findSession(page)}/stop`, { method: "POST" })).status).toBe(200);
}

type Case = (client: SdkClient, id: string) => Promise<void>;

const CASES: { readonly [name in CaseName | "a run that is cancelled"]: Case } = {
  async text(client, id) {
    const page = new Page(client, id);
    await page.send("text");
    await page.settle("Hello there.");
  },

  async thinking(client, id) {
    const page = new Page(client, id);
    await page.send("think");
    await page.settle("Hello.");
    expect(page.answer?.parts.find(({ type }) => type === "reasoning")).toMatchObject({ text: "They greet me." });
  },

  async "a tool"(client, id) {
    const page = new Page(client, id);
    await page.send("add");
    await page.settle("Adding. Done.");
    expect(page.call).toMatchObject({ state: "output-available", input: { a: 1, b: 2 }, output: 3 });
  },

  async "an approval"(client, id) {
    for (const approved of [true, false]) {
      const page = new Page(client, `${id} ${approved}`);
      await page.send("remove");
      if (!client.hasApprovals) {
        await page.settle("Let me see. Done.");
        expect(page.call).toMatchObject({ state: "output-error", errorText: /cannot answer approvals/ });
        continue;
      }
      expect(page.call?.state).toBe("approval-requested");
      await page.chat.addToolApprovalResponse({ id: page.call?.approval?.id ?? "", approved });
      await page.settle("Let me see. Done.");
      expect(page.call).toMatchObject(
        approved ? { state: "output-available", output: "removed x" } : { state: "output-denied" },
      );
    }
  },

  async "a tool of the client"(client, id) {
    const page = new Page(client, id);
    await page.send("locate");
    expect(page.call?.state).toBe("input-available");
    const { toolCallId = "" } = page.call ?? {};
    await page.chat.addToolOutput({ tool: "locate", toolCallId, output: "Oslo" });
    await page.settle("You are in Oslo.");
    expect(page.call).toMatchObject({ state: "output-available", output: "Oslo" });
    expect(page.chat.messages).toHaveLength(2);
  },

  async "an image"(client, id) {
    const page = new Page(client, id);
    const files = [{ type: "file", mediaType: "image/png", url: PIXEL, filename: "dot.png" } as const];
    await page.chat.sendMessage({ text: "see", files });
    await page.settle("I see image/png.");
    expect((await load(await findSession(page)))[0]?.parts).toMatchObject([
      { type: "file", mediaType: "image/png" },
      {},
    ]);
  },

  async "stop and the next message"(client, id) {
    const page = new Page(client, id);
    const sent = page.send("stall");
    await vi.waitFor(() => expect(page.text).toBe("Neve"), WAIT);
    // This only closes the connection: the next message cancels the run.
    await page.chat.stop();
    await sent;
    await page.send("text");
    await page.settle("Hello there.");
    expect(page.notices).toEqual([]);
    expect(await statesOf(await findSession(page))).toEqual(["completed", "cancelled"]);
  },

  async "a run that is cancelled"(client, id) {
    for (const word of ["stall", "wait"]) {
      const page = new Page(client, `${id} ${word}`);
      const sent = page.send(word);
      await vi.waitFor(() => expect(page.text === "Neve" || page.call?.state === "input-available").toBe(true), WAIT);
      await cancel(page);
      await sent;
      await page.settle(word === "wait" ? "Waiting. " : "Neve");
      expect(page.chat.messages).toHaveLength(2);
    }
  },

  async "a reload in the middle"(client, id) {
    const page = new Page(client, id);
    const text = `gate ${id}`;
    void page.send(text);
    const session = await findSession(page);
    const reloaded = new Page(client, session, await load(session));
    const resumed = reloaded.chat.resumeStream();
    await page.chat.stop();
    gateOf(text).resolve();
    await resumed;
    await reloaded.settle("The rest of it.");
    expect(reloaded.chat.messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
  },

  async "a killed server"(client, id) {
    let target = "";
    const proxy = await startFaultProxy(
      () => target,
      () => undefined,
    );
    const killed = await startServer([`127.0.0.1:${proxy.port}`]);
    target = killed.url;
    const page = new Page(client, id, [], `${proxy.url}/api/chat`);
    const sent = page.send(`kill ${id}`);
    await vi.waitFor(() => expect(page.text).toBe("Half an "), WAIT);
    const session = await findSession(page);
    // As a killed process leaves it: the run is live, and no process holds the session.
    const lease = await log.acquire(session, { holder: "other", ttlMs: 60_000, takeover: true });
    const restarted = await startServer([`127.0.0.1:${proxy.port}`]);
    target = restarted.url;
    proxy.cut("reset");
    await killed.close({ graceMs: 0 });
    await log.release(lease);
    // A page that is opened before a process continues the run.
    const early = new Page(client, session, await load(session));
    await early.chat.resumeStream();
    await early.settle("A whole answer.");
    expect(JSON.parse(JSON.stringify(early.chat.messages))).toEqual(await load(session));
    await vi.waitFor(async () => expect(await statesOf(session)).toEqual(["completed"]), WAIT);
    await sent;
    if (page.chat.status === "error" && client.openPage === "replays") await page.chat.resumeStream();
    const shown = client.openPage === "appends" ? "Half an A whole answer." : "A whole answer.";
    if (client.openPage !== "fails")
      await vi.waitFor(() => expect([page.chat.status, page.text]).toEqual(["ready", shown]), WAIT);
    const reloaded = new Page(client, session, await load(session));
    expect(reloaded.text).toBe("A whole answer.");
    await reloaded.chat.resumeStream();
    await reloaded.settle("A whole answer.");
    expect(JSON.parse(JSON.stringify(reloaded.chat.messages))).toEqual(await load(session));
    await restarted.close({ graceMs: 0 });
    await proxy.close();
  },

  async "two tabs"(client, id) {
    const first = new Page(client, id);
    const sent = first.send("deploy");
    const session = await findSession(first);
    const open = async (): Promise<Page> => new Page(client, session, await load(session));
    if (client.hasApprovals) {
      await sent;
      const second = await open();
      await second.chat.resumeStream();
      expect(second.call?.state).toBe("approval-requested");
      void second.chat.addToolApprovalResponse({ id: second.call?.approval?.id ?? "", approved: true });
      // A tab that is reloaded now shows that the call is running, and does not ask again.
      const third = await open();
      void third.chat.resumeStream();
      await vi.waitFor(() => expect(third.call?.state).toMatch(/^(approval-responded|input-available)$/), WAIT);
      gateOf(session).resolve();
      await second.settle("Let me see. Done.");
      await third.settle("Let me see. Done.");
      // The other tab answers too late.
      await first.chat.addToolApprovalResponse({ id: first.call?.approval?.id ?? "", approved: false });
    }
    await sent;
    await first.settle("Let me see. Done.");
    const last = await open();
    await last.chat.resumeStream();
    await last.settle("Let me see. Done.");
    expect(last.call?.state).toBe(client.hasApprovals ? "output-available" : "output-error");
    expect(await statesOf(session)).toEqual(["completed"]);
    // The first tab does not show what the last one adds, and its message follows that.
    await last.send("text");
    await last.settle("Hello there.");
    await first.send("think");
    await first.settle("Hello.");
    expect([last.notices, first.notices]).toEqual([[], ["missed_messages"]]);
    expect(await statesOf(session)).toEqual(["completed", "completed", "completed"]);
  },
};

/** Each client with all cases, as the guide configures it; a few cases of `LoomChatTransport` and of other forms. */
const CONFIGURED: ReadonlySet<SdkClient> = new Set([...SDK_RELEASES, WORKFLOW_CLIENT]);
const SAMPLED = sampleCases(
  SDK_CLIENTS.flatMap((client) => Object.entries(CASES).map(([name, run]) => ({ client, name, run }))),
  {
    kindOf: ({ client, name }) => (CONFIGURED.has(client) ? `${client.name} ${name}` : client.name),
  },
);

it.each(SAMPLED)("$client.name: $name", async ({ client, name, run }) =>
  run(client, `${name} ${client.name}`.replaceAll(/\W+/g, "-")),
);
