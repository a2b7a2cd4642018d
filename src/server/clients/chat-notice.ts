/**
 * What a client of another protocol has to know about its message before the answer: the message waits, or the
 * conversation is not what the client shows. These protocols have no such frame; each sends it as application data.
 */
import type { ServerCore } from "../api/server-core.ts";

/**
 * - `queued`: another run is live; the answer begins when it has ended.
 * - `missed_messages`: the conversation has messages that the client does not show. The message follows them.
 * - `new_version`: the same, and the message began a new version of the conversation without them.
 */
export type NoticeCode = "queued" | "missed_messages" | "new_version";

export interface ChatNotice {
  readonly code: NoticeCode;
  readonly message: string;
}

const MESSAGES: { readonly [code in NoticeCode]: string } = {
  queued: "The message waits until the answer in progress has ended",
  missed_messages: "The conversation has messages that are not shown here; reload it to see them",
  new_version: "The conversation has messages that are not shown here; this message begins a new version without them",
};

export function isNoticeCode(value: unknown): value is NoticeCode {
  return typeof value === "string" && Object.hasOwn(MESSAGES, value);
}

export function createNotice(code: NoticeCode): ChatNotice {
  return { code, message: MESSAGES[code] };
}

/** Returns the code for a message that was accepted: that it waits, or else the other one. */
export async function findNotice(
  { log }: Pick<ServerCore, "log">,
  { session, run }: { readonly session: string; readonly run: string },
  other?: NoticeCode,
): Promise<NoticeCode | undefined> {
  const [latest] = await log.listRuns(session, { limit: 1 });
  const isQueued = latest?.status === "live" && latest.runId !== run && (await log.getRun(session, run)) === undefined;
  return isQueued ? "queued" : other;
}
