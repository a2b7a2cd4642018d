import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, it, vi } from "vitest";
import { LoomError } from "../protocol/loom-error.ts";
import { Feed } from "./feed.ts";
import { LOG_LIMITS } from "./log-limits.ts";
import { MemoryTables } from "./memory-tables.ts";
import { StoreLog } from "./store-log.ts";

it.each([false, true])("keeps no lease if the state of a session cannot be read (closing: %s)", async (isClosing) => {
  const tables = new MemoryTables(LOG_LIMITS, Date.now);
  const failed = Promise.withResolvers<never>();
  vi.spyOn(tables.reader, "listLiveRuns").mockImplementation(() => failed.promise as never);
  const log = new StoreLog({ tables, feed: new Feed(LOG_LIMITS), limits: LOG_LIMITS });
  const acquired = log.acquire("s", { holder: "h", ttlMs: 60_000, create: true });
  await nextTurn();
  const closed = isClosing ? log.close() : undefined;
  failed.reject(new LoomError("store_failed", "The disk failed"));
  await expect(acquired).rejects.toMatchObject({ code: "store_failed" });
  await closed;
  expect(tables.reader.getSession("s")).toMatchObject({ sessionId: "s", holder: undefined });
});
