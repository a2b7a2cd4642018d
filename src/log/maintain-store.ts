/** What the command line needs to maintain a store. The implementation for databases is loaded on the first call. */
import { LoomError } from "../protocol/loom-error.ts";
import type { PostgresFormat } from "../postgres/migrate.ts";
import type { PostgresOptions } from "../postgres/postgres-options.ts";
import { isDatabaseUrl } from "./open-log.ts";
import type { StoredPartVersion, StoreStatus } from "./store-status.ts";
import { migrateFile, readFileStatus, renewSessions } from "./sqlite/maintain-file.ts";

export { renewSessions };
export { verifyStore } from "./sqlite/verify-store.ts";

/** `formats`: tables that other parts have in a database. Changes nothing; throws if the store cannot be read. */
export async function readStoreStatus(
  store: string,
  formats: readonly PostgresFormat[],
  options: PostgresOptions = {},
): Promise<StoreStatus> {
  if (!isDatabaseUrl(store)) return readFileStatus(store);
  return (await import("./postgres/maintain-database.ts")).readDatabaseStatus(store, formats, options);
}

/** Creates the tables of a store, or updates them to this version. Returns the versions before. */
export async function migrateStore(
  store: string,
  formats: readonly PostgresFormat[],
  options: PostgresOptions = {},
): Promise<readonly StoredPartVersion[]> {
  if (!isDatabaseUrl(store)) return migrateFile(store);
  return (await import("./postgres/maintain-database.ts")).migrateDatabase(store, formats, options);
}

/**
 * Gives every session a new incarnation, so that clients load it again. For a store that has lost records which clients
 * may have received. Returns the number of sessions. Throws `lease_held` while a process holds a lease.
 */
export async function renewStore(
  store: string,
  onProgress: (sessions: number) => void,
  options: PostgresOptions = {},
): Promise<number> {
  if (isDatabaseUrl(store))
    return (await import("./postgres/maintain-database.ts")).renewDatabase(store, onProgress, options);
  const { counts } = readFileStatus(store);
  if (counts !== undefined && counts.workers > 0)
    throw new LoomError("lease_held", `${store} is in use. Stop all servers, and run the command again`);
  return renewSessions(store);
}
