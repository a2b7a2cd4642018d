/** One message with its parts, in the order they happened. */
import { memo, type ReactNode, useMemo } from "react";
import type { MessagePart, MessageView, Receiver, SessionView } from "../../client/index.ts";
import { PartItem } from "../parts/part-item.tsx";
import { useUi } from "../ui/ui-context.tsx";
import { defineWords, useWords } from "../ui/words.ts";
import { useSession } from "../use-receiver.ts";
import { UserMessage } from "./user-message.tsx";

const WORDS = defineWords({ en: { answer: "Answer" }, zh: { answer: "回答" } });

export interface MessageItemProps {
  readonly receiver: Receiver;
  readonly sessionId: string;
  readonly message: MessageView;
  readonly turnKey: string;
  readonly runId: string | undefined;
  readonly isLive: boolean;
}

export const MessageItem = memo(function MessageItem(props: MessageItemProps): ReactNode {
  const { receiver, sessionId, message, turnKey, runId, isLive } = props;
  const words = useWords(WORDS);
  useUi().onRenderMessage?.(message.messageId);
  if (message.role === "user") return <UserMessage message={message} />;
  if (message.parts.length === 0) return null;
  const common = { turnKey, runId, isLive };
  return (
    <div
      className="loom-message loom-message-assistant"
      role="group"
      aria-label={words.answer}
      data-message={message.messageId}
    >
      {message.parts.map((part) => (
        <div key={part.key} className={`loom-part loom-part-${part.type}`} data-part={part.key}>
          {part.type === "todo" ? (
            <LinkedTodo {...common} receiver={receiver} sessionId={sessionId} part={part} />
          ) : (
            <PartItem {...common} part={part} todoList={undefined} />
          )}
        </div>
      ))}
    </div>
  );
});

interface LinkedTodoProps extends Pick<MessageItemProps, "receiver" | "sessionId" | "turnKey" | "runId" | "isLive"> {
  readonly part: Extract<MessagePart, { readonly type: "todo" }>;
}

/** A list is the session's, and changes long after its message: it is looked up here, so that no message is rendered. */
function LinkedTodo({ receiver, sessionId, part, ...common }: LinkedTodoProps): ReactNode {
  const select = useMemo(
    () => (session: SessionView | undefined) => session?.todoLists.find(({ listId }) => listId === part.listId),
    [part.listId],
  );
  return <PartItem {...common} part={part} todoList={useSession(receiver, sessionId, select)} />;
}
