// A server with a scripted agent, and chats of the AI SDK as React hooks in a DOM, over real HTTP.
import { useChat } from "@ai-sdk/react";
import { WorkflowChatTransport } from "@ai-sdk/workflow/client";
import { type ChatTransport, DefaultChatTransport, type UIMessage } from "ai";
import { GlobalWindow } from "happy-dom";
import { createElement } from "react";
import { createRoot } from "react-dom/client";
import { onTestFinished, vi } from "vitest";
import { agent } from "../../src/agents/index.ts";
import { LoomChatTransport } from "../../src/ai-sdk/index.ts";
import { type Log, MemoryLog } from "../../src/log/index.ts";
import type { Script } from "../../src/models/scripted-model.ts";
import { ScriptedModel } from "../../src/models/testing.ts";
import { createMemoryBlobStore } from "../../src/server/blobs/create-memory-blob-store.ts";
import { SERVER_LIMITS } from "../../src/server/guard/server-limits.ts";
import { type LoomServerOptions, startLoomServer } from "../../src/server/loom-server.ts";
import type { Tool } from "../../src/tools/tool.ts";
import { createTools } from "../agents/counted-tools.ts";

const WAIT = { timeout: 25_000, interval: 10 };

interface ChatServerOptions {
  /** Other names of the server. */
  readonly hosts?: readonly string[];
  readonly log?: Log;
  /** More tools of the agent. */
  readonly moreTools?: readonly Tool[];
  /** Default: no authentication. */
  readonly auth?: LoomServerOptions["auth"];
}

/** Starts a server. `script` is that of its agent. */
export async function startChatServer(
  script: Script,
  { hosts = [], log = new MemoryLog(), moreTools = [], auth }: ChatServerOptions = {},
) {
  const { tools, ran } = createTools();
  const model = new ScriptedModel(script, { chunk: 4 });
  const agents = { main: agent({ model, tools: [...tools, ...moreTools] }) };
  const blobs = createMemoryBlobStore(SERVER_LIMITS);
  const server = await startLoomServer({ log, agents, blobs, port: 0, hosts, ...(auth && { auth }) });
  onTestFinished(() => server.close({ graceMs: 0 }));
  const api = `${server.url}/api/chat`;
  const loadMessages = async (chat: string): Promise<UIMessage[]> =>
    (await (await fetch(`${api}/${chat}/messages`)).json()) as UIMessage[];
  return { server, log, ran, api, loadMessages };
}

/**
 * Sets up a DOM; `close` ends it. The global variables stay, because React may still use them after the test:
 * vitest.config.ts runs these files in a thread alone.
 */
export function openDom(): { readonly close: () => Promise<void> } {
  const window = new GlobalWindow({ url: "http://127.0.0.1/" });
  Object.assign(globalThis, { window, document: window.document });
  return { close: () => window.happyDOM.close() };
}

/** Sets up a DOM and fails the test if a promise is rejected without a handler. */
export function useDom(): void {
  const dom = openDom();
  const rejected: unknown[] = [];
  const note = (error: unknown): void => void rejected.push(error);
  process.on("unhandledRejection", note);
  onTestFinished(async () => {
    await new Promise((resolve) => setTimeout(resolve, 0));
    process.off("unhandledRejection", note);
    await dom.close();
    if (rejected.length > 0) throw new Error("A promise was rejected without a handler", { cause: rejected[0] });
  });
}

type HookOptions = NonNullable<Parameters<typeof useChat>[0]>;
type Hook = ReturnType<typeof useChat>;

/** Renders `useChat`. `chat()` returns what the last render had. */
export async function renderChat(options: HookOptions) {
  const root = createRoot(document.createElement("div"));
  let current: Hook | undefined;
  const errors: Error[] = [];
  const Chat = (): null => {
    current = useChat({ ...options, onError: (error) => void errors.push(error) });
    return null;
  };
  root.render(createElement(Chat));
  let isMounted = true;
  const unmount = (): void => {
    if (isMounted) root.unmount();
    isMounted = false;
  };
  onTestFinished(unmount);
  const chat = (): Hook => {
    if (current === undefined) throw new Error("The chat was not rendered yet");
    return current;
  };
  await vi.waitFor(chat, WAIT);

  /** Waits until the chat has the status, by default that of a complete answer, and returns its messages. */
  async function settle(status = "ready"): Promise<readonly UIMessage[]> {
    await vi.waitFor(() => {
      if (chat().status !== status) throw new Error(`The chat is ${chat().status}, not ${status}`);
    }, WAIT);
    return chat().messages;
  }

  /** Calls a function of the chat and waits until the chat has the status. */
  async function run(call: (hook: Hook) => unknown, status = "ready"): Promise<readonly UIMessage[]> {
    await call(chat());
    return settle(status);
  }

  return { chat, errors, unmount, settle, run };
}

export function createDefaultTransport(api: string): DefaultChatTransport<UIMessage> {
  return new DefaultChatTransport({ api });
}

/** Every transport that the guide names. */
export const TRANSPORTS: { readonly [name: string]: (api: string) => ChatTransport<UIMessage> } = {
  DefaultChatTransport: createDefaultTransport,
  WorkflowChatTransport: (api) => new WorkflowChatTransport({ api }) as unknown as ChatTransport<UIMessage>,
  LoomChatTransport: (api) => new LoomChatTransport<UIMessage>({ api }),
};

/** The messages without fields that are undefined, as JSON has them. */
export function toPlain(messages: readonly UIMessage[]): unknown {
  return JSON.parse(JSON.stringify(messages));
}

export function textOf(message: UIMessage | undefined): string {
  return (message?.parts ?? []).map((part) => (part.type === "text" ? part.text : "")).join("");
}
