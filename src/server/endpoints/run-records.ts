/** Reads the records of one run. No reader here reads a record after the run, however long the session is. */
import { createRecordReader } from "../../dialects/loom/decode.ts";
import type { Log, RunInfo, SessionInfo } from "../../log/index.ts";
import { readPages } from "../../log/read-pages.ts";
import { type EventOf, type EventType, isLoomError, type StampedRecord } from "../../protocol/index.ts";
import { isAnswerChannel } from "../../protocol/record.ts";

/** An event of a run, and where it is. */
export interface RunEvent<T extends EventType> {
  readonly envelope: StampedRecord["envelope"];
  readonly event: EventOf<T>;
}

/** Yields the events of a run that have one of the types, in order. Parses only records that may have such a type. */
export async function* readRunEvents<T extends EventType>(
  log: Log,
  info: SessionInfo,
  { runId, firstId, lastId }: RunInfo,
  types: readonly T[],
): AsyncGenerator<RunEvent<T>, void, undefined> {
  const marks = types.map((type) => `"${type}"`);
  const read = createRecordReader();
  for await (const { texts } of readPages(log, info, Math.max(firstId, info.firstId) - 1, lastId))
    for (const text of texts) {
      if (!marks.some((mark) => text.includes(mark))) continue;
      const { envelope, event } = (read(text) as StampedRecord | undefined) ?? {};
      if (event === undefined || envelope?.run_id !== runId || !types.includes(event.type as T)) continue;
      yield { envelope, event: event as EventOf<T> };
    }
}

/** Returns the event that starts a run, with its message. Undefined if another record is first. */
export async function readRunStart(
  log: Log,
  session: string,
  { firstId }: RunInfo,
): Promise<EventOf<"run_start"> | undefined> {
  const [record] = (await log.read(session, { after: firstId - 1, limit: 1 })).records;
  return record?.event.type === "run_start" ? (record.event as EventOf<"run_start">) : undefined;
}

/** Removes white space: texts of several model calls are joined in different ways. */
export const squash = (text: string): string => text.replaceAll(/\s+/gu, "");

/**
 * Returns the answer of a run, to compare it with the text that a client sends back: clients that send all messages show by
 * it which version of a conversation they have. These are the texts that a client may show, without white space: all text,
 * that without the attempts that were repeated, and the reply. None if the run was pruned or deleted.
 */
export async function readAnswers(log: Log, info: SessionInfo, run: RunInfo): Promise<readonly string[]> {
  if (run.firstId < info.firstId) return [];
  const nodes = new Map<string, string>();
  const superseded = new Set<string>();
  let reply = "";
  try {
    for await (const { envelope, event } of readRunEvents(log, info, run, ["reply", "node_enter", "message_chunk"])) {
      if (event.type === "reply") ({ reply } = event);
      else if (event.type === "node_enter") superseded.add(event.supersedes ?? "");
      else if (isAnswerChannel(event.channel)) {
        const { node_id: node = "-" } = envelope;
        nodes.set(node, (nodes.get(node) ?? "") + event.content);
      }
    }
  } catch (error) {
    if (isLoomError(error, "evicted", "unknown_session", "cursor_ahead")) return [];
    throw error;
  }
  const kept = [...nodes].flatMap(([node, text]) => (superseded.has(node) ? [] : [text]));
  return [[...nodes.values()].join(""), kept.join(""), reply].map(squash);
}
