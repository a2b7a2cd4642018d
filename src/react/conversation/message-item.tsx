/** One message with its parts, in the order they happened. */
import { memo, type ReactNode } from "react";
import type { MessageView, TodoList } from "../../client/index.ts";
import { PartItem } from "../parts/part-item.tsx";
import { useUi } from "../ui/ui-context.tsx";
import { defineWords, useWords } from "../ui/words.ts";
import { UserMessage } from "./user-message.tsx";

const WORDS = defineWords({ en: { answer: "Answer" }, zh: { answer: "回答" } });

export interface MessageItemProps {
  readonly message: MessageView;
  readonly turnKey: string;
  readonly runId: string | undefined;
  readonly isLive: boolean;
  readonly todoLists: readonly TodoList[] | undefined;
}

export const MessageItem = memo(function MessageItem(props: MessageItemProps): ReactNode {
  const { message, turnKey, runId, isLive, todoLists } = props;
  const words = useWords(WORDS);
  useUi().onRenderMessage?.(message.messageId);
  if (message.role === "user") return <UserMessage message={message} />;
  if (message.parts.length === 0) return null;
  return (
    <div
      className="loom-message loom-message-assistant"
      role="group"
      aria-label={words.answer}
      data-message={message.messageId}
    >
      {message.parts.map((part) => (
        <PartItem
          key={part.key}
          part={part}
          turnKey={turnKey}
          runId={runId}
          isLive={isLive}
          todoList={part.type === "todo" ? todoLists?.find(({ listId }) => listId === part.listId) : undefined}
        />
      ))}
    </div>
  );
});
