/**
 * The ID of a stream that clients of the AI SDK resume: `x-workflow-run-id` and `x-resumable-stream-id`. It contains
 * all that is needed to send the same chunks again.
 */
import { formatOpaqueId, parseOpaqueId } from "../../../dialects/opaque-id.ts";
import { toJsonObject } from "../../../protocol/json.ts";
import { isNoticeCode, type NoticeCode, type RunPart } from "../client-protocol.ts";

/** A part of a run that was sent as one response. */
export interface SentPart extends RunPart {
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

export function formatStreamId({ session, run, key, from, wait, notice, version }: SentPart): string {
  return formatOpaqueId(PREFIX, { session, run, key, from, wait, notice, version });
}

/** Returns undefined for any other text, for example the ID of a chat. */
export function parseStreamId(id: string): SentPart | undefined {
  const { session, run, key, from, wait, notice, version } = toJsonObject(parseOpaqueId(PREFIX, id));
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
