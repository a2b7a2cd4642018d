/**
 * The beginning of a session under another name, for those who make a new session of it. It reads, and writes nothing.
 * The records say what they said before, but for what names the session: the envelope, checkpoints, and where told how,
 * the addresses of images.
 */
import { Buffer } from "node:buffer";
import { type CheckpointEvent, type ImageEvent, LoomError } from "../protocol/index.ts";
import { createEntry } from "./entry.ts";
import { isForeign, unmarkForeign } from "./foreign-mark.ts";
import type { Log, LogEntry, SessionInfo } from "./log.ts";
import { readPages } from "./read-pages.ts";
import { renameEntry } from "./transfer.ts";

export interface CopyOptions {
  /** The new session. */
  readonly to: string;
  /** The last record that is copied; one before `firstId` for none. */
  readonly lastId: number;
  /** Where an image of the old session is in the new one. It stays where it is when absent. */
  readonly moveImage?: ((url: string) => string) | undefined;
}

/** Refused as `batch_too_large` where it is more than `maxForkBytes` of the log. */
export async function copyEntries(log: Log, info: SessionInfo, options: CopyOptions): Promise<LogEntry[]> {
  const { to, lastId, moveImage } = options;
  const { maxForkBytes } = log.limits;
  const { sessionId, firstId } = info;
  const entries: LogEntry[] = [];
  if (lastId < firstId) return entries;
  let bytes = 0;
  for await (const { texts } of readPages(log, info, firstId - 1, lastId))
    for (const text of texts) {
      const renamed = renameThread(renameEntry(text, sessionId, to), sessionId);
      const entry = adopt(moveImage === undefined ? renamed : readdress(renamed, moveImage));
      entries.push(entry);
      bytes += Buffer.byteLength(entry.text);
      if (bytes > maxForkBytes)
        throw new LoomError("batch_too_large", `a fork may share ${maxForkBytes} bytes with the old session`, {
          limit: maxForkBytes,
        });
    }
  return entries;
}

/** A checkpoint names its session itself. */
function renameThread(entry: LogEntry, old: string): LogEntry {
  const { envelope, event } = entry.record;
  if (event.type !== "checkpoint" || (event as CheckpointEvent).thread_id !== old) return entry;
  return createEntry({ envelope, event: { ...(event as CheckpointEvent), thread_id: envelope.session_id } });
}

function readdress(entry: LogEntry, moveImage: (url: string) => string): LogEntry {
  const { envelope, event } = entry.record;
  if (event.type !== "image") return entry;
  const image = event as ImageEvent;
  const url = moveImage(image.url);
  return url === image.url ? entry : createEntry({ envelope, event: { ...image, url } });
}

/** Whoever forks a run that somebody else carried out wants it to go on here. */
function adopt(entry: LogEntry): LogEntry {
  const { envelope, event } = entry.record;
  return isForeign(envelope) ? createEntry({ envelope: unmarkForeign(envelope), event }) : entry;
}
