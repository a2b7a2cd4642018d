"use client";
// The chat in the browser, with `useChat` of the AI SDK.
import { useChat } from "@ai-sdk/react";
import { DefaultChatTransport, type UIMessage } from "ai";
import { useState } from "react";

interface ChatProps {
  readonly id: string;
  /** ID of the run that answers now. */
  readonly run: string | undefined;
  readonly messages: UIMessage[];
}

export function Chat({ id, run, messages: initial }: ChatProps) {
  const url = `/api/chat/${encodeURIComponent(id)}`;
  const [transport] = useState(
    () =>
      new DefaultChatTransport({
        // The run of the page: if it ends before this request arrives, its answer is still streamed.
        prepareReconnectToStreamRequest: () => ({ api: `${url}/stream?run=${run}` }),
      }),
  );
  const { messages, sendMessage, status } = useChat({
    id,
    messages: initial,
    transport,
    resume: run !== undefined,
  });
  const [text, setText] = useState("");
  const isLive = status === "submitted" || status === "streaming";
  return (
    <main>
      {messages.map(({ id: key, role, parts }) => (
        <p key={key} className={role} style={{ fontWeight: role === "user" ? 600 : 400 }}>
          {parts.map((part) => (part.type === "text" ? part.text : ""))}
        </p>
      ))}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          setText("");
          void sendMessage({ text });
        }}
      >
        <input aria-label="Message" value={text} onChange={(event) => setText(event.target.value)} required />
        <button disabled={isLive}>Send</button>
        <button type="button" disabled={!isLive} onClick={() => void fetch(`${url}/stop`, { method: "POST" })}>
          Stop
        </button>
      </form>
    </main>
  );
}
