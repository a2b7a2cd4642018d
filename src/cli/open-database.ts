/** Opens the parts of a store in PostgreSQL, which share one pool of connections. */
import { openSharedKnowledgeBase } from "../context/knowledge-base/open-postgres-knowledge-base.ts";
import { openSharedPostgresLog } from "../log/open-log.ts";
import { openPostgres } from "../postgres/postgres-database.ts";
import type { PostgresOptions } from "../postgres/postgres-options.ts";
import { openPostgresCredentials } from "../server/auth/credentials/postgres-credentials.ts";
import { createPostgresRateCounters } from "../server/auth/limits/postgres-rates.ts";
import { openPostgresBlobStore } from "../server/blobs/open-postgres-blob-store.ts";
import type { StoreParts } from "./store-parts.ts";

/** Does not connect yet. Throws `missing_package`, or `store_failed` if the URL is not valid. */
export async function openDatabase(url: string, options: PostgresOptions): Promise<StoreParts> {
  const opened = new AsyncDisposableStack();
  const db = opened.adopt(await openPostgres(url, options), async (pool) => pool.close());
  const openCredentials: StoreParts["openCredentials"] = async () =>
    opened.adopt(await openPostgresCredentials(db), async (part) => part.close());
  return {
    address: url,
    async waitForDatabase({ waitMs, onChange }) {
      const unwatch = db.onChange(onChange);
      try {
        // Also refused by a standby.
        await db.read("SELECT txid_current()", [], waitMs);
      } finally {
        unwatch();
      }
    },
    openCredentials,
    findCredentials: openCredentials,
    openLog: async (log) => opened.adopt(await openSharedPostgresLog(db, log), async (part) => part.close()),
    openRateCounters: async () => createPostgresRateCounters(db),
    openBlobs: async (limits) => opened.adopt(await openPostgresBlobStore(db, limits), async (part) => part.close()),
    openKnowledge: async (options) =>
      opened.adopt(await openSharedKnowledgeBase(db, options), async (part) => part.close()),
    [Symbol.asyncDispose]: async () => opened.disposeAsync(),
  };
}
