/** A sent message whose run has not started. */
import type { PendingMessage } from "../conversation/pending-item.tsx";

/** A sent message whose run has not started, and why. */
export interface QueuedMessage extends PendingMessage {
  /** `sending`: not confirmed; `queued`: waits for a run to end; `failed`: not delivered or refused. */
  readonly status: "sending" | "queued" | "withdrawing" | "failed";
  /** Why it was not sent. */
  readonly error?: string | undefined;
}

/**
 * Splits waiting messages: those whose run is next are shown in the conversation, the others beside the message box.
 * While a run is live or a message is queued, a sent message will be queued.
 */
export function splitWaiting<M extends Pick<QueuedMessage, "status">>(
  waiting: readonly M[],
  isLive: boolean,
): { readonly next: readonly M[]; readonly others: readonly M[] } {
  if (isLive || waiting.some(({ status }) => status === "queued")) return { next: NONE, others: waiting };
  const isNext = ({ status }: M): boolean => status === "sending";
  return { next: waiting.filter(isNext), others: waiting.filter((message) => !isNext(message)) };
}

const NONE: readonly never[] = [];

/** Returns the text of a message, or its file names if it has no text. */
export function describeMessage({ text, files }: Pick<QueuedMessage, "text" | "files">): string {
  return text === "" ? files.map(({ name }) => name).join(", ") : text;
}
