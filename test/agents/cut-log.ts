// Logs of processes that died after any record.
import { createEntry } from "../../src/log/entry.ts";
import { MemoryLog } from "../../src/log/index.ts";
import type { StampedRecord } from "../../src/protocol/index.ts";
import { SESSION } from "./agent-fixture.ts";

/** A log with only these records, as left by a process that died after the last of them. */
export async function cutLog(
  records: readonly StampedRecord[],
  { sessionId = SESSION, now = Date.now }: { readonly sessionId?: string; readonly now?: () => number } = {},
): Promise<MemoryLog> {
  const log = new MemoryLog({ now });
  const lease = await log.acquire(sessionId, { holder: "dead", ttlMs: 1000 });
  const entries = records.map((record) => createEntry(record));
  await log.append({ sessionId, epoch: lease.epoch, expectedLastId: 0, entries });
  await log.release(lease);
  return log;
}

/** Records in one append with the one before them: a crash leaves both or neither. */
export function isJoined(records: readonly StampedRecord[], index: number): boolean {
  const type = records[index]?.event.type;
  const before = records[index - 1]?.event.type;
  if (type === "node_exit") return before === "updates";
  if (type === "values") return before === "node_exit";
  return (type === "checkpoint" && before === "values") || (type === "reply" && before === "run_end");
}
