// A chat with `useChat` as any frontend writes it. It knows nothing of Loom: `/api/chat` is the path that it uses by default.
import { type UIMessage, useChat } from "@ai-sdk/react";
import { type SyntheticEvent, useState } from "react";
import { createRoot } from "react-dom/client";

type Part = UIMessage["parts"][number];

function Part({ part }: { readonly part: Part }) {
  if (part.type === "text") return <p>{part.text}</p>;
  if (part.type === "reasoning") return <p className="reasoning">{part.text}</p>;
  if (!("toolCallId" in part)) return null;
  const name = part.type === "dynamic-tool" ? part.toolName : part.type.slice("tool-".length);
  return <pre>{`${name}(${JSON.stringify(part.input)}) → ${JSON.stringify(part.output ?? part.state)}`}</pre>;
}

function Chat({ id, saved }: { readonly id: string; readonly saved: UIMessage[] }) {
  const [input, setInput] = useState("");
  // `resume` continues an answer that was being written when the page was loaded.
  const { messages, status, error, sendMessage } = useChat({ id, messages: saved, resume: true });
  const isBusy = status === "submitted" || status === "streaming";
  const send = (event: SyntheticEvent) => {
    event.preventDefault();
    void sendMessage({ text: input });
    setInput("");
  };
  return (
    <>
      {messages.map((message) => (
        <article key={message.id} className={message.role}>
          {message.parts.map((part, at) => (
            <Part key={at} part={part} />
          ))}
        </article>
      ))}
      {error === undefined ? null : <p role="alert">{error.message}</p>}
      <form onSubmit={send}>
        <input aria-label="Message" value={input} onChange={({ target }) => setInput(target.value)} autoFocus />
        {/* Closing the connection does not end a run: another page may watch it. */}
        {isBusy ? (
          <button type="button" onClick={() => void fetch(`/api/chat/${id}/stop`, { method: "POST" })}>
            Stop
          </button>
        ) : (
          <button disabled={input === ""}>Send</button>
        )}
      </form>
    </>
  );
}

// The address has the ID of the chat, so that a reload and a second tab show the same one.
const id = location.hash.slice(1) || crypto.randomUUID();
history.replaceState(null, "", `#${id}`);
const saved = (await (await fetch(`/api/chat/${id}/messages`)).json()) as UIMessage[];
createRoot(document.querySelector("main") as HTMLElement).render(<Chat id={id} saved={saved} />);
