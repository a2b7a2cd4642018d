import { afterEach, describe, expect, test, vi } from "vitest";
import { agent } from "../../agents/index.ts";
import { MemoryLog } from "../../log/index.ts";
import { ScriptedModel } from "../../models/testing.ts";
import { startLoomServer } from "../../server/index.ts";
import { LocalService } from "../sessions/local-service.ts";
import { RemoteService } from "../sessions/remote-service.ts";
import type { ChatBackend } from "./chat-backend.ts";
import { ChatController, type ChatSurface } from "./chat-controller.ts";

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

/** Waits in its first run, and then answers at once. */
function createAgent(gate: Promise<void>) {
  const model = new ScriptedModel(() => ({ text: "Done." }));
  let calls = 0;
  const { specificationVersion, provider, modelId } = model;
  return agent({
    model: {
      specificationVersion,
      provider,
      modelId,
      async doStream(request: Parameters<typeof model.doStream>[0]) {
        const aborted = new Promise((_, reject) =>
          request.abortSignal?.addEventListener("abort", () => reject(new Error("aborted"))),
        );
        if (calls++ === 0) await Promise.race([gate, aborted]);
        return model.doStream(request);
      },
    },
  });
}

async function openChat(kind: "store" | "server") {
  const log = new MemoryLog();
  const gate = Promise.withResolvers<void>();
  const helper = createAgent(gate.promise);
  const rows: string[] = [];
  const surface: ChatSurface = {
    width: 80,
    paint: (_style, text) => text,
    keys: [],
    changed: () => undefined,
    print: (printed) => void rows.push(...printed),
    switched: () => undefined,
    decide: async () => undefined,
  };
  let service: LocalService | RemoteService = new LocalService(log);
  let hold = async (sessionId: string): Promise<void> => {
    hold = async () => undefined;
    await log.createSession(sessionId);
    const session = await helper.openSession(log, sessionId);
    closing.push(() => session.close());
  };
  if (kind === "server") {
    const server = await startLoomServer({ log, port: 0, agents: { main: helper } });
    service = new RemoteService({ url: server.url, token: undefined });
    hold = async () => undefined;
    closing.push(() => server.close({ graceMs: 0 }));
  }
  const backend = {
    service,
    agentName: "main",
    modelName: undefined,
    runFields: {},
    hold: (sessionId: string) => hold(sessionId),
    release: async () => undefined,
    missingTools: [],
  } as unknown as ChatBackend;
  const chat = new ChatController(backend, surface);
  closing.push(
    () => service[Symbol.asyncDispose](),
    async () => chat.close(),
    async () => gate.resolve(),
  );
  const listRuns = async (): Promise<readonly string[]> => {
    const runs = await log.listRuns(chat.conversation.sessionId);
    return runs.toReversed().map(({ status }) => status);
  };
  return { chat, rows, listRuns };
}

test("cancels on Ctrl-C only the first of the messages that are not sent yet", async () => {
  const { chat, rows, listRuns } = await openChat("store");
  const opened = Promise.withResolvers<void>();
  const { hold } = chat.backend;
  chat.backend.hold = async (sessionId) => opened.promise.then(() => hold(sessionId));
  const sending = ["One", "Two", "Three"].map((text) => chat.submit(text));
  chat.interrupt();
  expect(rows).toEqual(["cancelling; 2 messages to run next, or /stop"]);
  opened.resolve();
  await Promise.all(sending);
  await vi.waitFor(async () => expect(await listRuns()).toEqual(["live"]));
  await vi.waitFor(() => expect(chat.waitingMessages).toMatchObject([{ text: "Three" }]));
});

describe.each(["store", "server"] as const)("a chat with the agents of a %s", (kind) => {
  test("cancels the run on Ctrl-C, and runs the messages that wait next", async () => {
    const { chat, rows, listRuns } = await openChat(kind);
    await chat.submit("Please wait");
    await vi.waitFor(() => expect(chat.conversation.liveTurn).toBeDefined());
    for (const text of ["One", "Two", "Three"]) await chat.submit(text);
    chat.interrupt();
    expect(rows).toEqual(["cancelling; 3 messages to run next, or /stop"]);
    await vi.waitFor(async () =>
      expect(await listRuns()).toEqual(["cancelled", "completed", "completed", "completed"]),
    );
  });

  test("cancels the run and the messages that wait with /stop", async () => {
    const { chat, listRuns } = await openChat(kind);
    await chat.submit("Please wait");
    await vi.waitFor(() => expect(chat.conversation.liveTurn).toBeDefined());
    for (const text of ["One", "Two", "Three"]) await chat.submit(text);
    await chat.submit("/stop");
    await vi.waitFor(() => expect(chat.isBusy).toBe(false));
    expect(await listRuns()).toEqual(["cancelled"]);
  });
});
