/** A log with only these records, as left by a process that died after the last of them. */
import { createEntry } from "../../src/log/entry.ts";
import { MemoryLog } from "../../src/log/index.ts";
import type { StampedRecord } from "../../src/protocol/index.ts";
import { SESSION } from "./agent-fixture.ts";

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
