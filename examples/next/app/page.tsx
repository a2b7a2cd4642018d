// The page of a chat, with its messages from the log.
import type { UIMessage } from "ai";
import { conversation } from "loom-agent/adapters";
import { findLiveRun, openLog } from "../lib/log";
import { Chat } from "./chat";

interface PageProps {
  readonly searchParams: Promise<{ readonly chat?: string }>;
}

export default async function Page({ searchParams }: PageProps) {
  const { chat = "chat-7" } = await searchParams;
  const live = await findLiveRun(chat);
  return <Chat id={chat} run={live} messages={await readMessages(chat, live)} />;
}

/** Returns the messages of a chat, without the answer of the live run: the page reads that from its stream. */
async function readMessages(chat: string, live: string | undefined): Promise<UIMessage[]> {
  const { messages } = await conversation(await openLog(), chat, { through: live });
  const texts = messages.flatMap(({ role, content }, index): UIMessage[] => {
    if (role !== "user" && role !== "assistant") return [];
    const parts = typeof content === "string" ? [content] : content.map((part) => ("text" in part ? part.text : ""));
    return [{ id: String(index), role, parts: [{ type: "text", text: parts.join("") }] }];
  });
  return live === undefined ? texts : texts.slice(0, texts.findLastIndex(({ role }) => role === "user") + 1);
}
