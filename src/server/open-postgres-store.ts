/**
 * Opens all parts of a server that are stored in one PostgreSQL database, for programs that mount the server themselves.
 * `loom serve` has the same parts.
 */
import type { PostgresLog, PostgresLogOptions } from "../log/index.ts";
import { openSharedPostgresLog } from "../log/open-log.ts";
import { openPostgres } from "../postgres/postgres-database.ts";
import type { Credentials } from "./auth/credentials/credentials.ts";
import { openPostgresCredentials } from "./auth/credentials/postgres-credentials.ts";
import { createPostgresRateCounters } from "./auth/limits/postgres-rates.ts";
import type { RateCounters } from "./auth/limits/rates.ts";
import type { BlobLimits, BlobStore } from "./blobs/blob-store.ts";
import { openPostgresBlobStore } from "./blobs/open-postgres-blob-store.ts";
import { SERVER_LIMITS } from "./guard/server-limits.ts";

/** Options of `openPostgresStore`. */
export interface PostgresStoreOptions extends PostgresLogOptions {
  /** Limits of images and files. Use those of the server. Default: `SERVER_LIMITS`. */
  readonly blobLimits?: BlobLimits;
}

/** The parts of a server in one database. They share its connections. */
export interface PostgresStore extends AsyncDisposable {
  readonly log: PostgresLog;
  /** Images and files of sessions. */
  readonly blobs: BlobStore;
  /** Tokens, share links and sign-ins, for the option `auth`. */
  readonly credentials: Credentials;
  /** Limits per minute that all processes count together, for the option `auth`. */
  readonly rateCounters: RateCounters;
  /** Closes all parts and the connections. Close the server before. */
  close(): Promise<void>;
}

/**
 * Opens sessions, files, credentials and rate counters in one PostgreSQL database, so that all processes with this
 * database are equal. Creates the tables if they do not exist. Needs the package `pg`.
 *
 * ```ts
 * const store = await openPostgresStore("postgres://loom@db.example.com/loom");
 * const { log, blobs, credentials, rateCounters } = store;
 * const server = await startLoomServer({ log, blobs, auth: { credentials, rateCounters }, agents: { main } });
 * ```
 *
 * Throws `missing_package`, `store_unavailable`, `store_newer` or `store_failed`.
 */
export async function openPostgresStore(url: string, options: PostgresStoreOptions = {}): Promise<PostgresStore> {
  const { blobLimits = SERVER_LIMITS, ...logOptions } = options;
  await using opened = new AsyncDisposableStack();
  const db = opened.adopt(await openPostgres(url, logOptions), async (pool) => pool.close());
  const log = opened.adopt(await openSharedPostgresLog(db, logOptions), async (part) => part.close());
  const credentials = opened.adopt(await openPostgresCredentials(db), async (part) => part.close());
  const blobs = opened.adopt(await openPostgresBlobStore(db, blobLimits), async (part) => part.close());
  const rateCounters = await createPostgresRateCounters(db);
  const parts = opened.move();
  const close = async (): Promise<void> => parts.disposeAsync();
  return { log, blobs, credentials, rateCounters, close, [Symbol.asyncDispose]: close };
}
