// assistant-ui over the endpoint of the AI SDK, unmodified: answers, a second turn and tools of the frontend.
import type { AssistantRuntime, ThreadMessage } from "@assistant-ui/core";
import { AssistantRuntimeProvider } from "@assistant-ui/core/react";
import { AssistantChatTransport, useChatRuntime } from "@assistant-ui/react-ai-sdk";
import { createElement, type ReactElement } from "react";
import { createRoot } from "react-dom/client";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { startChatServer, useDom } from "./chat-fixture.ts";

const WAIT = { timeout: 25_000, interval: 10 };

function renderRuntime(api: string): () => AssistantRuntime {
  let current: AssistantRuntime | undefined;
  const App = (): ReactElement => {
    const runtime = useChatRuntime({ transport: new AssistantChatTransport({ api }) });
    current = runtime;
    return createElement(AssistantRuntimeProvider, { runtime, children: null });
  };
  const root = createRoot(document.createElement("div"));
  root.render(createElement(App));
  onTestFinished(() => root.unmount());
  return () => {
    if (current === undefined) throw new Error("The runtime was not rendered yet");
    return current;
  };
}

function textOf(message: ThreadMessage | undefined): string {
  return (message?.content ?? []).map((part) => (part.type === "text" ? part.text : "")).join("");
}

/** Sends a message and waits for the whole answer. */
async function ask(runtime: () => AssistantRuntime, text: string): Promise<readonly ThreadMessage[]> {
  const { thread } = await vi.waitFor(runtime, WAIT);
  const before = thread.getState().messages.length;
  thread.append(text);
  await vi.waitFor(() => {
    const { messages, isRunning } = thread.getState();
    expect([messages.length, isRunning]).toEqual([before + 2, false]);
    expect(messages.at(-1)?.status?.type).toBe("complete");
  }, WAIT);
  return thread.getState().messages;
}

beforeEach(useDom);

describe("assistant-ui", () => {
  it("shows the answer with its tools, and the next turn", async () => {
    const script = [
      { reasoning: "They add.", text: "Adding. ", calls: [{ name: "add", input: { a: 1, b: 2 }, id: "t1" }] },
      { text: "It is 3." },
      { text: "You are welcome." },
    ];
    const { api, log } = await startChatServer(script);
    const runtime = renderRuntime(api);
    const first = await ask(runtime, "1 + 2?");
    expect(textOf(first.at(-1))).toBe("Adding. It is 3.");
    expect(first.at(-1)?.content.find(({ type }) => type === "tool-call")).toMatchObject({
      toolName: "add",
      result: 3,
    });
    const second = await ask(runtime, "Thanks");
    expect(second).toHaveLength(4);
    expect(textOf(second.at(-1))).toBe("You are welcome.");
    const sessions = await log.listSessions({});
    expect(sessions).toHaveLength(1);
    expect(await log.listRuns(sessions[0]?.sessionId ?? "")).toHaveLength(2);
  });
});
