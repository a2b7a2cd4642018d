/** Creates log entries from records, and checks a batch before a log writes any of it. */
import { Buffer } from "node:buffer";
import { loom } from "../dialects/loom/index.ts";
import { LoomError, type StampedRecord } from "../protocol/index.ts";
import type { Append, CreateOptions, LogEntry } from "./log.ts";
import type { LogLimits } from "./log-limits.ts";
import { assertName } from "./rules.ts";

/** Dialect of the stored texts. */
export const STORED_DIALECT = loom;

/** Bytes of a UTF-16 code unit in UTF-8, at most. */
const MAX_BYTES_PER_CHARACTER = 3;

const encoder = STORED_DIALECT.createEncoder();

/** Encodes a record as the entry a log stores. */
export function createEntry(record: StampedRecord): LogEntry {
  const [text] = encoder.encode(record);
  if (text === undefined) throw new TypeError("The loom dialect must encode a record as one frame");
  return { record, text };
}

/** Size of entries in bytes. */
export function measureEntries(entries: readonly LogEntry[]): number {
  return entries.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
}

/**
 * Throws unless the batch is within the limits and its records continue `expectedLastId` without gaps:
 * `batch_too_large`, `event_too_large`, `conflict` or `invalid_name`.
 */
export function assertBatch({ sessionId, expectedLastId, entries }: Append, limits: LogLimits): void {
  if (entries.length > limits.maxBatchRecords)
    throw tooLarge(`A batch has at most ${limits.maxBatchRecords} records, not ${entries.length}`);
  let characters = 0;
  let id = expectedLastId;
  let run: string | undefined;
  for (const { record, text } of entries) {
    id++;
    const { session_id, run_id, event_id } = record.envelope;
    if (session_id !== sessionId)
      throw new LoomError(
        "conflict",
        `A record of session "${session_id}" cannot be appended to session "${sessionId}"`,
      );
    if (event_id !== id || !Number.isSafeInteger(id))
      throw new LoomError("conflict", `Expected record ${id}, not ${event_id}`, { event_id, expected: id });
    if (run_id !== undefined && run_id !== run) assertName("run", run_id);
    run = run_id;
    characters += text.length;
    // Most texts are so short that their bytes need not be counted.
    const size = text.length * MAX_BYTES_PER_CHARACTER <= limits.maxEventBytes ? 0 : Buffer.byteLength(text);
    if (size > limits.maxEventBytes)
      throw new LoomError("event_too_large", `An event has at most ${limits.maxEventBytes} bytes, not ${size}`, {
        bytes: size,
        limit: limits.maxEventBytes,
      });
  }
  if (characters * MAX_BYTES_PER_CHARACTER <= limits.maxBatchBytes) return;
  const bytes = measureEntries(entries);
  if (bytes > limits.maxBatchBytes) throw tooLarge(`A batch has at most ${limits.maxBatchBytes} bytes, not ${bytes}`);
}

/**
 * `assertBatch` for the records a session is created with; see `CreateOptions`. The returned function checks one piece
 * after another.
 */
export function createPieceCheck(
  sessionId: string,
  firstId: number,
  limits: LogLimits,
): (entries: readonly LogEntry[]) => void {
  const { maxForkBytes } = limits;
  const most = { ...limits, maxBatchRecords: Infinity, maxBatchBytes: maxForkBytes };
  let expectedLastId = firstId - 1;
  let bytes = 0;
  return (entries) => {
    assertBatch({ sessionId, epoch: 0, expectedLastId, entries }, most);
    expectedLastId += entries.length;
    for (const { text } of entries) bytes += Buffer.byteLength(text);
    if (bytes <= maxForkBytes) return;
    throw new LoomError(
      "batch_too_large",
      `The records to copy exceed the limit of ${maxForkBytes} bytes for a fork; fork from an earlier point`,
      { limit: maxForkBytes },
    );
  };
}

/**
 * Checks the carried records of a new session: only they have gaps between their IDs. Throws `invalid_event`,
 * `event_too_large` and `batch_too_large`.
 */
export function assertCarried(
  sessionId: string,
  { carried = [], firstId = 1 }: Pick<CreateOptions, "carried" | "firstId">,
  limits: LogLimits,
): void {
  let before = 0;
  for (const entry of carried) {
    const { event_id: id } = entry.record.envelope;
    if (!isCarried(entry.record) || id <= before || id >= firstId)
      throw new LoomError(
        "invalid_event",
        `Record ${id} cannot be carried: it must be a prompt before the first record`,
      );
    assertBatch({ sessionId, epoch: 0, expectedLastId: id - 1, entries: [entry] }, limits);
    before = id;
  }
  const bytes = measureEntries(carried);
  if (bytes > limits.maxForkBytes)
    throw tooLarge(`The carried prompts have at most ${limits.maxForkBytes} bytes, not ${bytes}`);
}

/** Whether a record was carried: any other record of a prompt belongs to a run. See `Log.readCarried`. */
export function isCarried({ envelope, event }: StampedRecord): boolean {
  return event.type === "llm_content" && envelope.run_id === undefined;
}

function tooLarge(message: string): LoomError {
  return new LoomError("batch_too_large", message);
}
