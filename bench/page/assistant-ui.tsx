/**
 * A page of assistant-ui, as its documents show it: the provider has the state, and its children stay the same. The hash
 * of its URL is the number of messages; `events` streams the answers.
 */
import {
  AssistantRuntimeProvider,
  MessagePrimitive,
  ThreadPrimitive,
  useExternalStoreRuntime,
} from "@assistant-ui/react";
import { type PropsWithChildren, type ReactNode, useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import { writeAnswer, writeQuestion } from "./texts.ts";

/** A `ThreadMessageLike` that is only text. */
interface ThreadMessage {
  readonly id: string;
  readonly role: "user" | "assistant";
  readonly content: string;
}

const first = Array.from({ length: Number(location.hash.slice(1)) }, (_, index): ThreadMessage => {
  const turn = Math.floor(index / 2) + 1;
  return index % 2 === 0
    ? { id: `u${turn}`, role: "user", content: writeQuestion(turn) }
    : { id: `a${turn}`, role: "assistant", content: writeAnswer(turn) };
});

function addText(messages: readonly ThreadMessage[], text: string): readonly ThreadMessage[] {
  const last = messages.at(-1);
  return last === undefined ? messages : [...messages.slice(0, -1), { ...last, content: last.content + text }];
}

function addTurn(messages: readonly ThreadMessage[]): readonly ThreadMessage[] {
  const turn = messages.length / 2 + 1;
  return [
    ...messages,
    { id: `u${turn}`, role: "user", content: writeQuestion(turn) },
    { id: `a${turn}`, role: "assistant", content: "" },
  ];
}

const convertMessage = (message: ThreadMessage): ThreadMessage => message;

function Provider({ children }: PropsWithChildren): ReactNode {
  const [messages, setMessages] = useState<readonly ThreadMessage[]>(first);
  useEffect(() => {
    const source = new EventSource("events");
    source.addEventListener("message", ({ data }: MessageEvent<string>) => {
      const text = JSON.parse(data) as string | null;
      setMessages((now) => (text === null ? addTurn(now) : addText(now, text)));
    });
    return () => source.close();
  }, []);
  const runtime = useExternalStoreRuntime({
    messages,
    isRunning: true,
    convertMessage,
    onNew: () => Promise.resolve(),
  });
  return <AssistantRuntimeProvider runtime={runtime}>{children}</AssistantRuntimeProvider>;
}

/** Shows the conversation with a component for the text of messages. */
export function showConversation(Text: () => ReactNode): void {
  const Message = (): ReactNode => (
    <MessagePrimitive.Root className="message">
      <MessagePrimitive.Parts components={{ Text }} />
    </MessagePrimitive.Root>
  );
  const root = document.querySelector("main");
  if (root === null) return;
  createRoot(root).render(
    <Provider>
      <ThreadPrimitive.Root>
        <ThreadPrimitive.Viewport style={{ height: "100vh", overflowY: "auto" }}>
          <ThreadPrimitive.Messages components={{ Message }} />
        </ThreadPrimitive.Viewport>
      </ThreadPrimitive.Root>
    </Provider>,
  );
}
