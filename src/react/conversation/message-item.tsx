/** One message with its parts, in the order they happened. */
import { memo, type ReactNode, useMemo, useRef, useState } from "react";
import type { MessagePart, MessageView, Receiver, SessionView } from "../../client/index.ts";
import { PartItem } from "../parts/part-item.tsx";
import { ThoughtSeriesItem } from "../parts/thought-series-item.tsx";
import { useAsked } from "../thoughts/use-asked.ts";
import { formatNumber } from "../ui/format.ts";
import { useUi } from "../ui/ui-context.tsx";
import { defineWords, useWords } from "../ui/words.ts";
import { useSession } from "../use-receiver.ts";
import { chooseRows, type RowWish, wishEarlier, wishRow } from "./choose-rows.ts";
import { groupParts } from "./group-parts.ts";
import { UserMessage } from "./user-message.tsx";

const WORDS = defineWords({
  en: {
    answer: "Answer",
    earlier: (count: string) => `Show earlier parts (${count})`,
    later: (count: string) => `Go to the last parts (${count} more)`,
  },
  zh: {
    answer: "回答",
    earlier: (count: string) => `显示更早的内容（${count} 项）`,
    later: (count: string) => `转到最后（后面还有 ${count} 项）`,
  },
});

export interface MessageItemProps {
  readonly receiver: Receiver;
  readonly sessionId: string;
  readonly message: MessageView;
  readonly turnKey: string;
  readonly runId: string | undefined;
  readonly isLive: boolean;
}

export const MessageItem = memo(function MessageItem(props: MessageItemProps): ReactNode {
  const { message } = props;
  useUi().onRenderMessage?.(message.messageId);
  if (message.role === "user") return <UserMessage message={message} />;
  return message.parts.length === 0 ? null : <Answer {...props} />;
});

function Answer({ receiver, sessionId, message, turnKey, runId, isLive }: MessageItemProps): ReactNode {
  const words = useWords(WORDS);
  const { language } = useUi();
  const [wish, setWish] = useState<RowWish>();
  const element = useRef<HTMLDivElement>(null);
  const common = { turnKey, runId, isLive };
  const rows = groupParts(message.parts);
  const chosen = chooseRows(rows.length, wish);
  const { first, end } = chosen;
  useAsked(element, "part", (key) => {
    const at = rows.findIndex((row) =>
      row.type === "thoughts" ? row.parts.some((part) => part.key === key) : row.key === key,
    );
    const asked = at === -1 ? undefined : wishRow(at, chosen, rows.length);
    if (asked !== undefined) setWish(asked);
  });
  return (
    <div
      ref={element}
      className="loom-message loom-message-assistant"
      role="group"
      aria-label={words.answer}
      data-message={message.messageId}
    >
      {first === 0 ? null : (
        <button type="button" className="loom-more" onClick={() => setWish(wishEarlier(chosen, rows.length))}>
          {words.earlier(formatNumber(first, language))}
        </button>
      )}
      {rows.slice(first, end).map((part, index) =>
        part.type === "thoughts" ? (
          <div key={part.key} className="loom-part loom-part-thinking">
            <ThoughtSeriesItem
              parts={part.parts}
              place={`${turnKey}/${part.key}`}
              turnKey={turnKey}
              isLive={isLive}
              isLast={first + index === rows.length - 1}
            />
          </div>
        ) : (
          <div key={part.key} className={`loom-part loom-part-${part.type}`} data-part={part.key}>
            {part.type === "todo" ? (
              <LinkedTodo {...common} receiver={receiver} sessionId={sessionId} part={part} />
            ) : (
              <PartItem {...common} part={part} todoList={undefined} />
            )}
          </div>
        ),
      )}
      {end === rows.length ? null : (
        <button type="button" className="loom-more" onClick={() => setWish(undefined)}>
          {words.later(formatNumber(rows.length - end, language))}
        </button>
      )}
    </div>
  );
}

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
