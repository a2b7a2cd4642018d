/** List of sent messages whose run has not started. */
import type { ReactNode } from "react";
import { Button } from "../ui/button.tsx";
import { Badge, Spinner } from "../ui/indicators.tsx";
import { useWords } from "../ui/words.ts";
import { COMPOSER_WORDS } from "./composer-words.ts";
import { describeMessage, type QueuedMessage } from "./waiting-message.ts";

export interface WaitingListProps<M extends QueuedMessage> {
  readonly messages: readonly M[];
  /** The connection is lost; unsent messages are sent when it is back. */
  readonly isAway: boolean;
  /** Puts a failed message back into the box. */
  readonly onEdit: (message: M) => void;
  readonly onResend: (message: M) => void;
  readonly onWithdraw: (message: M) => void;
}

/**
 * Lists sent messages whose run has not started. Renders nothing if there are none.
 *
 * ```tsx
 * <WaitingList messages={waiting} isAway={false} onEdit={edit} onResend={send} onWithdraw={withdraw} />
 * ```
 */
export function WaitingList<M extends QueuedMessage>({ messages, ...given }: WaitingListProps<M>): ReactNode {
  const words = useWords(COMPOSER_WORDS);
  if (messages.length === 0) return null;
  return (
    <ul className="loom-waiting" aria-label={words.waiting}>
      {messages.map((message) => (
        <WaitingItem key={message.runId} message={message} {...given} />
      ))}
    </ul>
  );
}

interface WaitingItemProps<M extends QueuedMessage> extends Omit<WaitingListProps<M>, "messages"> {
  readonly message: M;
}

function WaitingItem<M extends QueuedMessage>({
  message,
  isAway,
  onEdit,
  onResend,
  onWithdraw,
}: WaitingItemProps<M>): ReactNode {
  const words = useWords(COMPOSER_WORDS);
  const { status, error } = message;
  const isFailed = status === "failed";
  const isHeld = isAway && status === "sending";
  return (
    <li className="loom-waiting-item">
      <span className="loom-waiting-text">{describeMessage(message)}</span>
      {isFailed ? (
        <Badge tone="bad">{words.failed}</Badge>
      ) : (
        <Badge tone="busy">
          {status === "queued" || isHeld ? null : <Spinner />}
          {isHeld ? words.held : words[status]}
        </Badge>
      )}
      {error === undefined ? null : <span className="loom-waiting-error">{error}</span>}
      {isFailed ? (
        <Button icon="edit" onClick={() => onEdit(message)}>
          {words.edit}
        </Button>
      ) : null}
      {isFailed ? (
        <Button icon="retry" onClick={() => onResend(message)}>
          {words.again}
        </Button>
      ) : null}
      {status === "sending" ? null : (
        <Button icon="close" disabled={status === "withdrawing"} onClick={() => onWithdraw(message)}>
          {isFailed ? words.discard : words.withdraw}
        </Button>
      )}
    </li>
  );
}
