/**
 * The ID of a stream that clients of the AI SDK resume: `x-workflow-run-id` and `x-resumable-stream-id`. It contains
 * all that is needed to send the same chunks again. Clients keep these IDs, so the names of the encoded fields stay.
 */
import { formatOpaqueId, parseOpaqueId } from "../../../dialects/opaque-id.ts";
import { toJsonObject } from "../../../protocol/json.ts";
import { isNoticeCode, type NoticeCode, type RunSlice } from "../client-protocol.ts";

/** A slice of a run that was sent as one response. */
export interface SentSlice extends RunSlice {
  /** Cursor of the chunk before the first. Default: the start of the run. */
  readonly from?: string | undefined;
  /** The ID of a record: the response ends at the first place from it on where the run waits for the user. Default: 0. */
  readonly waitFromId?: number | undefined;
  /** What the client has to know about its message. The first chunk says it. */
  readonly notice?: NoticeCode | undefined;
  /** Major version of the AI SDK that reads it. Default: 6. */
  readonly sdkVersion?: number | undefined;
}

const PREFIX = "wrun_";

export function formatStreamId({ session, run, key, from, waitFromId, notice, sdkVersion }: SentSlice): string {
  return formatOpaqueId(PREFIX, { session, run, key, from, wait: waitFromId, notice, version: sdkVersion });
}

/** Returns undefined for any other text, for example the ID of a chat. */
export function parseStreamId(id: string): SentSlice | undefined {
  const { session, run, key, from, wait, notice, version } = toJsonObject(parseOpaqueId(PREFIX, id));
  if (typeof session !== "string" || typeof run !== "string") return undefined;
  return {
    session,
    run,
    ...(typeof key === "string" ? { key } : {}),
    ...(typeof from === "string" ? { from } : {}),
    ...(typeof wait === "number" ? { waitFromId: wait } : {}),
    ...(isNoticeCode(notice) ? { notice } : {}),
    ...(version === 5 || version === 7 ? { sdkVersion: version } : {}),
  };
}
