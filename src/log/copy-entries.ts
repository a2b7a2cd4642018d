/**
 * Copies the first records of a session under a new session ID, for a fork. Only reads the log.
 *
 * A copy differs from the original in its session ID (in the envelope and in checkpoints), in image URLs if `moveImage`
 * is given, and in the mark of runs executed by another program, which is removed. For another owner, tools that were
 * allowed need approval again, and what models were sent, system prompts of the client and ratings are removed.
 */
import type {
  CheckpointEvent,
  FeedbackEvent,
  ImageEvent,
  RunStartEvent,
  ToolPermissionEvent,
} from "../protocol/events.generated.ts";
import { createEntry } from "./entry.ts";
import { isForeign, unmarkForeign } from "./foreign-mark.ts";
import type { Log, LogEntry, SessionInfo } from "./log.ts";
import { hideContent } from "./model-content.ts";
import { readPages } from "./read-pages.ts";
import { renameEntry } from "./transfer.ts";

export interface CopyOptions {
  /** ID of the new session. */
  readonly to: string;
  /** Last record to copy; `firstId - 1` copies nothing. */
  readonly lastId: number;
  /** Maps the URL of an image to its URL in the new session. URLs are kept if absent. */
  readonly moveImage?: ((url: string) => string) | undefined;
  /** The new session belongs to another owner. Default: false. */
  readonly hasOtherOwner?: boolean;
}

/** Yields the copies page by page, so that only one page is in memory. */
export async function* copyEntries(
  log: Log,
  info: SessionInfo,
  options: CopyOptions,
): AsyncGenerator<readonly LogEntry[], void, undefined> {
  const { sessionId, firstId } = info;
  if (options.lastId < firstId) return;
  for await (const { texts } of readPages(log, info, firstId - 1, options.lastId))
    yield texts.map((text) => copyEntry(text, sessionId, options));
}

/** Copies the carried records of a session, see `Log.readCarried`. Another owner gets none. */
export async function copyCarried(
  log: Log,
  { sessionId, firstId }: SessionInfo,
  { to, lastId, hasOtherOwner = false }: Omit<CopyOptions, "moveImage">,
): Promise<readonly LogEntry[]> {
  if (hasOtherOwner || lastId < firstId) return [];
  return (await log.readCarried(sessionId)).map(({ text }) => renameEntry(text, sessionId, to));
}

/** Copies one record of session `from`. */
export function copyEntry(
  text: string,
  from: string,
  { to, moveImage, hasOtherOwner = false }: Omit<CopyOptions, "lastId">,
): LogEntry {
  const copied = renameThread(renameEntry(text, from, to), from);
  const renamed = hasOtherOwner ? limitToOwner(copied) : copied;
  return clearForeignMark(moveImage === undefined ? renamed : moveImageUrl(renamed, moveImage));
}

/** A checkpoint repeats the session ID as its `thread_id`. */
function renameThread(entry: LogEntry, old: string): LogEntry {
  const { envelope, event } = entry.record;
  if (event.type !== "checkpoint" || (event as CheckpointEvent).thread_id !== old) return entry;
  return createEntry({ envelope, event: { ...(event as CheckpointEvent), thread_id: envelope.session_id } });
}

/**
 * An owner allows tools only in their own sessions. Prompts and ratings are for the first owner only. No record is left out,
 * because event IDs are contiguous.
 */
function limitToOwner(entry: LogEntry): LogEntry {
  const { envelope, event } = entry.record;
  switch (event.type) {
    case "llm_content":
      return createEntry({ envelope, event: hideContent(event) });
    case "tool_permission":
      return createEntry({ envelope, event: { ...(event as ToolPermissionEvent), rule: "ask" } });
    case "feedback": {
      const { type, target_run_id } = event as FeedbackEvent;
      return createEntry({ envelope, event: { type, target_run_id, rating: "none" } });
    }
    case "run_start": {
      const { instructions, ...start } = event as RunStartEvent;
      return instructions === undefined ? entry : createEntry({ envelope, event: start });
    }
    default:
      return entry;
  }
}

function moveImageUrl(entry: LogEntry, moveImage: (url: string) => string): LogEntry {
  const { envelope, event } = entry.record;
  if (event.type !== "image") return entry;
  const image = event as ImageEvent;
  const url = moveImage(image.url);
  return url === image.url ? entry : createEntry({ envelope, event: { ...image, url } });
}

/** The fork of a run that another program executed continues here. */
function clearForeignMark(entry: LogEntry): LogEntry {
  const { envelope, event } = entry.record;
  return isForeign(envelope) ? createEntry({ envelope: unmarkForeign(envelope), event }) : entry;
}
