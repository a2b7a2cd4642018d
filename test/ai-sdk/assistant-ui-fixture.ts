// A page with the runtime of assistant-ui, in a DOM and over real HTTP.
import type { AssistantRuntime, ThreadMessage, ThreadRuntime } from "@assistant-ui/core";
import { AssistantRuntimeProvider } from "@assistant-ui/core/react";
import { AssistantChatTransport, useChatRuntime, type UseChatRuntimeOptions } from "@assistant-ui/react-ai-sdk";
import {
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
  type UIMessage,
} from "ai";
import { createElement, type ReactElement } from "react";
import { createRoot } from "react-dom/client";
import { expect, onTestFinished, vi } from "vitest";

export const WAIT = { timeout: 25_000, interval: 10 };

type TransportOptions = NonNullable<ConstructorParameters<typeof AssistantChatTransport>[0]>;

/** What a test does with a page. */
export interface AssistantPage {
  readonly runtime: AssistantRuntime;
  readonly thread: ThreadRuntime;
  /** Errors that the chat reported. */
  readonly errors: readonly Error[];
  /** Closes the page and its connections, as a browser does. */
  readonly close: () => void;
}

/** Renders the runtime; resolves when it can be used. */
export async function openPage(
  transport: TransportOptions,
  options: Omit<UseChatRuntimeOptions, "transport" | "onError"> = {},
): Promise<AssistantPage> {
  const closed = new AbortController();
  const errors: Error[] = [];
  let current: AssistantRuntime | undefined;
  const fetchFromPage: typeof fetch = (input, init = {}) => {
    const signals = [closed.signal, ...(init.signal instanceof AbortSignal ? [init.signal] : [])];
    return fetch(input, { ...init, signal: AbortSignal.any(signals) });
  };
  const chatTransport = new AssistantChatTransport({ ...transport, fetch: fetchFromPage });
  const App = (): ReactElement => {
    const runtime = useChatRuntime({
      ...options,
      transport: chatTransport,
      onError: (error) => void errors.push(error),
    });
    current = runtime;
    return createElement(AssistantRuntimeProvider, { runtime, children: null });
  };
  const root = createRoot(document.createElement("div"));
  root.render(createElement(App));
  let isOpen = true;
  const close = (): void => {
    if (!isOpen) return;
    isOpen = false;
    closed.abort();
    root.unmount();
  };
  onTestFinished(close);
  const runtime = await vi.waitFor(() => {
    if (current === undefined) throw new Error("The runtime was not rendered yet");
    return current;
  }, WAIT);
  return { runtime, thread: runtime.thread, errors, close };
}

const sendAutomaticallyWhen: NonNullable<UseChatRuntimeOptions["sendAutomaticallyWhen"]> = (options) =>
  lastAssistantMessageIsCompleteWithToolCalls(options) || lastAssistantMessageIsCompleteWithApprovalResponses(options);

/** A page whose chat keeps its ID, as the guide shows it. */
export function openChat(
  api: string,
  chat: string,
  messages: UIMessage[],
  options: Pick<UseChatRuntimeOptions, "onData"> = {},
): Promise<AssistantPage> {
  return openPage(
    {
      api,
      prepareSendMessagesRequest: ({ body, messages: sent, trigger, messageId }) => ({
        body: { ...body, id: chat, messages: sent, trigger, messageId },
      }),
      resumable: {
        // A new chat has nothing to resume, and a message that is sent meanwhile would mix with it.
        storage: {
          getStreamId: () => (messages.length > 0 ? chat : null),
          setStreamId: () => undefined,
          clear: () => undefined,
        },
        resumeApi: `${api}/${chat}/stream`,
      },
    },
    { ...options, messages, sendAutomaticallyWhen },
  );
}

export function textOf(message: ThreadMessage | undefined): string {
  return (message?.content ?? []).map((part) => (part.type === "text" ? part.text : "")).join("");
}

/** Texts of all messages, without those of reasoning and tools. */
export function textsOf(thread: ThreadRuntime): readonly string[] {
  return thread.getState().messages.map(textOf);
}

/** Waits until the last message is an answer with this status and the page is idle. */
export async function settle(thread: ThreadRuntime, status = "complete"): Promise<readonly ThreadMessage[]> {
  await vi.waitFor(() => {
    const { messages, isRunning } = thread.getState();
    expect([messages.at(-1)?.role, messages.at(-1)?.status?.type, isRunning]).toEqual(["assistant", status, false]);
  }, WAIT);
  return thread.getState().messages;
}

/** Sends a message and waits for the answer. */
export async function ask(thread: ThreadRuntime, text: string, status?: string): Promise<readonly ThreadMessage[]> {
  const before = thread.getState().messages.length;
  thread.append(text);
  await vi.waitFor(() => expect(thread.getState().messages).toHaveLength(before + 2), WAIT);
  return settle(thread, status);
}
