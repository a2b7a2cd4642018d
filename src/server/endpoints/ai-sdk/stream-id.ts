/**
 * The ID of a stream that clients of the AI SDK resume: `x-workflow-run-id` and `x-resumable-stream-id`. It contains
 * all that is needed to send the same chunks again, so the server keeps nothing about a response.
 *
 * An ID gives no permission: what it names is authorized like any other request.
 */
import { isJsonObject, parseJson } from "../../../protocol/json.ts";
import { isNoticeCode, type NoticeCode } from "../chat-notice.ts";

/** A part of a run that was sent as one response. */
export interface SentPart {
  readonly session: string;
  readonly run: string;
  /** The command that starts the run, for a run that has not started. */
  readonly key?: string | undefined;
  /** Cursor of the chunk before the first. Default: the start of the run. */
  readonly from?: string | undefined;
  /** The response ends where the run waits for the user, from this record on. Default: at the first such place. */
  readonly wait?: number | undefined;
  /** What the client has to know about its message. The first chunk says it. */
  readonly notice?: NoticeCode | undefined;
  /** Version of the AI SDK that reads it. Default: 6. */
  readonly version?: number | undefined;
}

const PREFIX = "wrun_";
const MAX_LENGTH = 4096;

export function formatStreamId({ session, run, key, from, wait, notice, version }: SentPart): string {
  const id = JSON.stringify({ session, run, key, from, wait, notice, version });
  return PREFIX + Buffer.from(id).toString("base64url");
}

/** Returns undefined for any other text, for example the ID of a chat. */
export function parseStreamId(id: string): SentPart | undefined {
  if (!id.startsWith(PREFIX) || id.length > MAX_LENGTH) return undefined;
  const part = parseJson(Buffer.from(id.slice(PREFIX.length), "base64url").toString());
  if (!isJsonObject(part)) return undefined;
  const { session, run, key, from, wait, notice, version } = part;
  if (typeof session !== "string" || typeof run !== "string") return undefined;
  return {
    session,
    run,
    ...(typeof key === "string" ? { key } : {}),
    ...(typeof from === "string" ? { from } : {}),
    ...(typeof wait === "number" ? { wait } : {}),
    ...(isNoticeCode(notice) ? { notice } : {}),
    ...(version === 5 || version === 7 ? { version } : {}),
  };
}
