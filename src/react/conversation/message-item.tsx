/** One message with its parts in order. */
import { memo, type NamedExoticComponent, type ReactNode, useMemo, useRef, useState } from "react";
import type { MessagePart, Receiver, SessionView } from "../../client/index.ts";
import type { MessageView } from "../../client/view.ts";
import { PartItem } from "../parts/part-item.tsx";
import { SupersededItem } from "../parts/superseded-item.tsx";
import { ThoughtSeriesItem } from "../parts/thought-series-item.tsx";
import { CitationProvider, createSourceFinder } from "../text/citation.tsx";
import { useRevealRequest } from "../thoughts/use-reveal-request.ts";
import { formatNumber } from "../ui/format.ts";
import { useUi } from "../ui/ui-context.tsx";
import { defineWords, useWords } from "../ui/words.ts";
import { useSession } from "../use-receiver.ts";
import { chooseRows, extendToEarlierRows, groupParts, hasPart, rangeAroundRow, type RowRange } from "./group-parts.ts";
import { CitedList } from "./cited-list.tsx";
import { UserMessage } from "./user-message.tsx";

const WORDS = defineWords({
  en: {
    answer: "Answer",
    earlier: (count: string) => `Show earlier (${count})`,
    later: (count: string) => `Jump to end (${count} more)`,
  },
  zh: {
    answer: "回答",
    earlier: (count: string) => `显示更早内容（${count} 项）`,
    later: (count: string) => `跳到末尾（还有 ${count} 项）`,
  },
});

export interface MessageItemProps {
  readonly receiver: Receiver;
  readonly sessionId: string;
  readonly message: MessageView;
  /** Key of the run, as in `TurnView.key`. */
  readonly turnKey: string;
  /** Id of the run, sent with approvals. */
  readonly runId: string | undefined;
  /** The run is live. */
  readonly isLive: boolean;
  /** Leaves out the model's thinking, because the drawing of a search shows it. Default: false. */
  readonly hidesThinking?: boolean | undefined;
}

/** Renders one message. A message of the user is a `UserMessage`; an answer is shown part by part. */
export const MessageItem: NamedExoticComponent<MessageItemProps> = memo(function MessageItem(
  props: MessageItemProps,
): ReactNode {
  const { message } = props;
  useUi().onRenderMessage?.(message.messageId);
  if (message.role === "user") return <UserMessage message={message} />;
  return message.parts.length === 0 ? null : <Answer {...props} />;
});

function Answer(props: MessageItemProps): ReactNode {
  const { receiver, sessionId, message, turnKey, runId, isLive, hidesThinking = false } = props;
  const words = useWords(WORDS);
  const { language } = useUi();
  const [range, setRange] = useState<RowRange>();
  const element = useRef<HTMLDivElement>(null);
  const common = { turnKey, runId, isLive };
  const rows = groupParts(hidesThinking ? message.parts.filter(isNotThinking) : message.parts);
  const findSources = useMemo(() => createSourceFinder(), []);
  const chosen = chooseRows(rows.length, range);
  const { first, end } = chosen;
  useRevealRequest(element, "part", (key) => {
    const at = rows.findIndex((row) => hasPart(row, key));
    const wanted = at === -1 ? undefined : rangeAroundRow(at, chosen, rows.length);
    if (wanted !== undefined) setRange(wanted);
  });
  if (rows.length === 0) return null;
  return (
    <div
      ref={element}
      className="loom-message loom-message-assistant"
      role="group"
      aria-label={words.answer}
      data-message={message.messageId}
    >
      <CitationProvider sources={findSources(message.parts)}>
        {first === 0 ? null : (
          <button
            type="button"
            className="loom-more"
            onClick={() => setRange(extendToEarlierRows(chosen, rows.length))}
          >
            {words.earlier(formatNumber(first, language))}
          </button>
        )}
        {rows.slice(first, end).map((part, index) =>
          part.type === "thoughts" ? (
            <div key={part.key} className="loom-part loom-part-thinking">
              <ThoughtSeriesItem
                parts={part.parts}
                stateKey={`${turnKey}/${part.key}`}
                turnKey={turnKey}
                isLive={isLive}
                isLast={first + index === rows.length - 1}
              />
            </div>
          ) : part.type === "superseded" ? (
            <div key={part.key} className="loom-part loom-part-thinking">
              <SupersededItem
                parts={part.parts}
                stateKey={`${turnKey}/${part.key}`}
                turnKey={turnKey}
                runId={runId}
                outcome={isLive ? "answering" : message.hasError ? "failed" : "answered"}
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
      </CitationProvider>
      {isLive || end < rows.length ? null : <CitedList parts={message.parts} />}
      {end === rows.length ? null : (
        <button type="button" className="loom-more" onClick={() => setRange(undefined)}>
          {words.later(formatNumber(rows.length - end, language))}
        </button>
      )}
    </div>
  );
}

/** Thinking of an interrupted attempt stays with the other parts of that attempt. */
function isNotThinking(part: MessagePart): boolean {
  return part.type !== "thinking" || part.supersededBy !== undefined;
}

interface LinkedTodoProps extends Pick<MessageItemProps, "receiver" | "sessionId" | "turnKey" | "runId" | "isLive"> {
  readonly part: MessagePart<"todo">;
}

/**
 * To-do lists belong to the session and change after their message, so they are selected here; the message does not
 * re-render.
 */
function LinkedTodo({ receiver, sessionId, part, ...common }: LinkedTodoProps): ReactNode {
  const select = useMemo(
    () => (session: SessionView | undefined) => session?.todoLists.find(({ listId }) => listId === part.listId),
    [part.listId],
  );
  return <PartItem {...common} part={part} todoList={useSession(receiver, sessionId, select)} />;
}
