// Real clients of all protocols on a real `loom serve` that is killed in the middle of an answer, or while the run waits
// for the user, and started again.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { toolDefinition } from "@tanstack/ai";
import { ChatClient, fetchServerSentEvents } from "@tanstack/ai-client";
import type { UIMessage } from "ai";
import { afterAll, afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { openSqliteLog } from "../../src/log/index.ts";
import { ServeProcess } from "../page/serve-process.ts";
import { LONG, KILL_SAMPLES } from "../sampling.ts";
import { findPort } from "../server/kill-fixture.ts";
import { ASSISTANT_UI } from "../ai-sdk/assistant-ui-client.ts";
import { openDom } from "../ai-sdk/chat-fixture.ts";
import { openSdkChat, SDK_RELEASES, type SdkChat, type SdkClient } from "../ai-sdk/sdk-versions.ts";
import { VERSIONS } from "./ag-ui-fixture.ts";
import type { Client } from "./client-cases.ts";
import { OPENAI_CLIENTS } from "./openai-clients.ts";
import { ANSWER } from "./serve-agents.ts";

const folder = mkdtempSync(join(tmpdir(), "loom-serve-kill-"));
const servers: ServeProcess[] = [];
const WAIT = { timeout: 60_000, interval: 50 };
const AGENTS = join(folder, "agents.mjs");
// The command loads the default export of a module.
writeFileSync(AGENTS, `export { SERVED as default } from ${JSON.stringify(import.meta.resolve("./serve-agents.ts"))};`);
const unhandled: unknown[] = [];
const note = (reason: unknown): void => void unhandled.push(reason);
let listeners: ReturnType<typeof process.listeners<"unhandledRejection">> = [];
let count = 0;

beforeEach(() => {
  const dom = openDom();
  onTestFinished(dom.close);
  vi.spyOn(console, "error").mockReturnValue();
  // HttpAgent leaves a promise unhandled when its connection is cut.
  unhandled.length = 0;
  listeners = process.listeners("unhandledRejection");
  process.removeAllListeners("unhandledRejection");
  process.on("unhandledRejection", note);
});
afterEach(() => {
  vi.restoreAllMocks();
  process.off("unhandledRejection", note);
  for (const listener of listeners) process.on("unhandledRejection", listener);
  for (const reason of unhandled) expect(String(reason)).toMatch(/terminated|aborted|fetch failed/);
});
afterAll(async () => {
  await Promise.allSettled(servers.map((server) => server.kill()));
  rmSync(folder, { recursive: true, force: true });
});

/** A server on its own store. Answers after a tool stop in the middle until `open`. */
async function serve() {
  const store = join(folder, `${++count}.db`);
  const port = await findPort((below) => Math.floor((below * ((count * 37) % 100)) / 100));
  const server = new ServeProcess(port, store, "--agents", AGENTS);
  servers.push(server);
  await server.start();
  return {
    origin: server.url,
    url: `${server.url}/ag-ui`,
    open: () => writeFileSync(`${store}.gate`, ""),
    stop: () => server.kill(),
    restart: async () => {
      await server.kill();
      await server.start();
    },
    /** The states of the runs of each session. */
    listRuns: async () => {
      const log = await openSqliteLog(store);
      const sessions = await log.listSessions({ limit: 100 });
      const runs = await Promise.all(sessions.map(({ sessionId }) => log.listRuns(sessionId)));
      await log.close();
      return runs.map((list) => list.map(({ status }) => status));
    },
  };
}

type KilledServer = Awaited<ReturnType<typeof serve>>;

/** Messages without metadata, times and generated IDs. */
const plain = (messages: readonly unknown[]): unknown => {
  const left = new Set(["id", "metadata", "createdAt", "stepId", "parentMessageId"]);
  return JSON.parse(JSON.stringify(messages, (key, value: unknown) => (left.has(key) ? undefined : value)));
};

const load = async (url: string, threadId: string) => {
  const client = new ChatClient({ connection: fetchServerSentEvents(url), threadId, persistence: true });
  client.attach();
  await vi.waitFor(() => expect(client.getMessages().length).toBeGreaterThan(1), WAIT);
  return client;
};

const ASK_SCHEMA = { type: "object", properties: { question: { type: "string" } } } as const;
const TOOLS = [{ name: "ask", description: "Asks the user", parameters: ASK_SCHEMA }];
const THOUGHT = "I think of an answer.";
/** What a client has of an answer that stops in the middle. */
const CUT = "This is a long answer, of whic";
const CUT_TEXTS: { readonly [word: string]: string } = { add: CUT, think: "I think" };
const RESUME = [{ interruptId: "c1", status: "resolved" as const, payload: true }];

/** What a client of AG-UI does before the kill and after it, with the threads that it uses. */
async function prepareAgent({ url }: KilledServer, version: string, Agent: (typeof VERSIONS)[number][1]) {
  const start = async (word: string) => {
    const threadId = `${version} ${word}`;
    const client = new Agent({ url, threadId });
    client.addMessage({ id: `u ${threadId}`, role: "user", content: word });
    const run = client.runAgent({ runId: `${threadId} 1`, tools: TOOLS }).catch(() => undefined);
    const cut = CUT_TEXTS[word];
    if (cut === undefined) await run;
    else await vi.waitFor(() => expect(JSON.stringify(client.messages)).toContain(cut), WAIT);
    return { threadId, messages: client.messages };
  };
  const [ask, remove] = [await start("ask"), await start("remove")];
  const [add, think] = [await start("add"), await start("think")];
  const reload = ({ threadId, messages }: typeof ask) => new Agent({ url, threadId, initialMessages: messages });
  return {
    threads: [ask, remove, add, think].map(({ threadId }) => threadId),
    async finish() {
      const asked = reload(ask);
      asked.addMessage({ id: "answer", role: "tool", toolCallId: "c1", content: "blue" });
      expect((await asked.runAgent({ runId: `${asked.threadId} 2`, tools: TOOLS })).result).toBe(ANSWER);
      const approved = reload(remove);
      expect((await approved.runAgent({ runId: `${approved.threadId} 2`, resume: RESUME })).result).toBe(ANSWER);
      expect(JSON.stringify(approved.messages)).toContain("removed a");
      // A cut request is repeated with its run ID. A client that comes later has the same messages.
      for (const started of [add, think]) {
        const [cut, later] = [reload(started), reload({ ...started, messages: started.messages.slice(0, 1) })];
        for (const client of [cut, later])
          expect((await client.runAgent({ runId: `${cut.threadId} 1` })).result).toBe(ANSWER);
        expect(plain(cut.messages)).toEqual(plain(later.messages));
        // What the killed process left is not in them.
        const said = cut.messages.flatMap(({ role, content }) => (role === "user" || role === "tool" ? [] : [content]));
        expect(said).toEqual([...(started === add ? ["I use a tool.", "Let me see."] : [THOUGHT]), ANSWER]);
      }
    },
  };
}

/** A page in the middle of an answer after a tool. When it is reloaded, it shows the whole answer. */
async function preparePage({ origin }: KilledServer, client: Client) {
  const page = await client.open(origin);
  page.send("add").catch(() => undefined);
  await vi.waitFor(() => expect([client.name, page.text()]).toEqual([client.name, expect.stringContaining(CUT)]), WAIT);
  return {
    async finish() {
      const reloaded = await page.reload();
      // Some show a blank line between two texts.
      const show = () => [client.name, reloaded.text().replaceAll(/\s+/g, "")];
      const whole = `Let me see.${client.keepsCutText === true ? CUT : ""}${ANSWER}`.replaceAll(" ", "");
      await vi.waitFor(() => expect(show()).toEqual([client.name, whole]), WAIT);
      page.close();
      reloaded.close();
    },
  };
}

/** The same with a release of the AI SDK. */
async function prepareSdkPage({ origin }: KilledServer, client: SdkClient) {
  const id = crypto.randomUUID();
  const api = `${origin}/api/chat`;
  const open = (messages: UIMessage[]) =>
    openSdkChat(client, { id, messages, transport: client.createTransport(api) }).chat;
  const show = ({ messages }: SdkChat) => {
    const parts = messages.findLast(({ role }) => role === "assistant")?.parts ?? [];
    return [client.name, parts.map((part) => (part.type === "text" ? part.text : "")).join("")];
  };
  const chat = open([]);
  void chat.sendMessage({ text: "add" });
  await vi.waitFor(() => expect(show(chat)).toEqual([client.name, `Let me see.${CUT}`]), WAIT);
  return {
    async finish() {
      const reloaded = open((await (await fetch(`${api}/${id}/messages`)).json()) as UIMessage[]);
      await reloaded.resumeStream();
      expect(show(reloaded)).toEqual([client.name, `Let me see.${ANSWER}`]);
      expect(reloaded.status).toBe("ready");
    },
  };
}

async function prepareTanStack({ url }: KilledServer) {
  const connection = fetchServerSentEvents(url, { reconnect: { delayMs: 50, maxAttempts: 2000 } });
  await new ChatClient({ connection, threadId: "tanstack remove" }).sendMessage("remove");
  const start = async (word: string) => {
    const client = new ChatClient({ connection, threadId: `tanstack ${word}` });
    const sent = client.sendMessage(word);
    await vi.waitFor(() => expect(JSON.stringify(client.getMessages())).toContain(CUT_TEXTS[word]), WAIT);
    return { client, sent, threadId: `tanstack ${word}` };
  };
  const cut = [await start("add"), await start("think")];
  // Its own tool finishes only after the kill.
  const colour = Promise.withResolvers<string>();
  const asked = Promise.withResolvers<void>();
  const ask = toolDefinition({ name: "ask", description: "Asks the user", inputSchema: ASK_SCHEMA }).client(() => {
    asked.resolve();
    return colour.promise;
  });
  const asking = new ChatClient({ connection, threadId: "tanstack ask", tools: [ask] });
  const sentAsk = asking.sendMessage("ask");
  await asked.promise;
  return {
    threads: [...cut.map(({ threadId }) => threadId), "tanstack remove", "tanstack ask"],
    async finish() {
      // It repeats the request with `Last-Event-ID` until the server is back.
      for (const { client, sent, threadId } of cut) {
        await sent;
        expect(client.getError()).toBeUndefined();
        expect(plain(client.getMessages())).toEqual(plain((await load(url, threadId)).getMessages()));
      }
      colour.resolve("blue");
      await sentAsk;
      await vi.waitFor(() => expect(asking.getMessages().at(-1)?.parts).toMatchObject([{ content: ANSWER }]), WAIT);
      expect(JSON.stringify(asking.getMessages())).toContain('"output":"blue"');
      const loaded = await load(url, "tanstack ask");
      await vi.waitFor(() => expect(plain(asking.getMessages())).toEqual(plain(loaded.getMessages())), WAIT);
      const reloaded = await load(url, "tanstack remove");
      await vi.waitFor(() => expect(reloaded.getInterrupts()).toHaveLength(1), WAIT);
      await reloaded.addToolApprovalResponse({ id: reloaded.getInterrupts()[0]?.id ?? "", approved: true });
      await vi.waitFor(() => expect(reloaded.getMessages().at(-1)?.parts).toMatchObject([{ content: ANSWER }]), WAIT);
      expect(JSON.stringify(reloaded.getMessages())).toContain("removed a");
    },
  };
}

test.runIf(LONG)(
  "clients continue an answer, approve calls and send results after a kill, in one run each",
  async () => {
    for (let round = 0; round < KILL_SAMPLES.kills / 2; round++) {
      const server = await serve();
      const clients = await Promise.all([
        ...VERSIONS.map(([version, Agent]) => prepareAgent(server, version, Agent)),
        prepareTanStack(server),
      ]);
      const pages = await Promise.all([
        ...[ASSISTANT_UI, ...OPENAI_CLIENTS].map((client) => preparePage(server, client)),
        ...SDK_RELEASES.map((client) => prepareSdkPage(server, client)),
      ]);
      const count = clients.flatMap(({ threads }) => threads).length + pages.length;
      const expectRuns = () =>
        vi.waitFor(
          async () => expect(await server.listRuns()).toEqual(Array.from({ length: count }, () => ["completed"])),
          WAIT,
        );
      server.open();
      await server.restart();
      await Promise.all(clients.map((client) => client.finish()));
      await expectRuns();
      await Promise.all(pages.map((page) => page.finish()));
      // A reload starts no other run.
      await expectRuns();
      await server.stop();
    }
  },
  900_000,
);
