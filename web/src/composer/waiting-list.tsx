/** List of sent messages whose run has not started. */
import type { ReactNode } from "react";
import { Badge, Button, Spinner, useWords } from "loom-agent/react";
import { usePage } from "../shell/page-context.tsx";
import { describeMessage, type WaitingMessage } from "../store/composing.ts";
import { COMPOSER_WORDS } from "./composer-words.ts";

export function WaitingList({ messages }: { readonly messages: readonly WaitingMessage[] }): ReactNode {
  const words = useWords(COMPOSER_WORDS);
  if (messages.length === 0) return null;
  return (
    <ul className="page-waiting" aria-label={words.waiting}>
      {messages.map((message) => (
        <WaitingItem key={message.runId} message={message} />
      ))}
    </ul>
  );
}

function WaitingItem({ message }: { readonly message: WaitingMessage }): ReactNode {
  const words = useWords(COMPOSER_WORDS);
  const page = usePage();
  const { status, error } = message;
  const isFailed = status === "failed";
  return (
    <li className="page-waiting-item">
      <span className="page-waiting-text">{describeMessage(message)}</span>
      {isFailed ? (
        <Badge tone="bad">{words.failed}</Badge>
      ) : (
        <Badge tone="busy">
          {status === "queued" ? null : <Spinner />}
          {words[status]}
        </Badge>
      )}
      {error === undefined ? null : <span className="page-waiting-error">{error}</span>}
      {isFailed ? (
        <Button icon="retry" onClick={() => page.resend(message)}>
          {words.again}
        </Button>
      ) : null}
      {status === "sending" ? null : (
        <Button icon="close" disabled={status === "withdrawing"} onClick={() => void page.withdraw(message)}>
          {isFailed ? words.discard : words.withdraw}
        </Button>
      )}
    </li>
  );
}
