/**
 * Opens the parts of a store: sessions, credentials, rate counters, blobs and the knowledge base. They are files named after the store, or
 * tables of one database, which all parts reach through the same connections.
 */
import { lstatSync } from "node:fs";
import { openLog, type StoredLog, type StoreOptions } from "../log/open-log.ts";
import type { PostgresOptions } from "../postgres/postgres-options.ts";
import { asStoreError } from "../sqlite/as-store-error.ts";
import { readDatabaseOptions } from "./database-settings.ts";
import { isDatabase, rejectMemory } from "./find-store.ts";
import type { StoreParts } from "./store-parts.ts";

/**
 * Opens a file or a database; the environment says how to connect, unless `database` is given. Throws `store_…`,
 * `missing_package`, or a CliError for a URL of an unknown kind, an invalid variable or `:memory:`.
 */
export async function openStore(store: string, database?: PostgresOptions): Promise<StoreParts> {
  rejectMemory(store);
  if (!isDatabase(store)) return openFiles(store);
  const options = database ?? readDatabaseOptions(process.env);
  return (await import("./open-database.ts")).openDatabase(store, options);
}

function openFiles(store: string): StoreParts {
  const opened = new AsyncDisposableStack();
  const file = `${store}-auth`;
  const openCredentials: StoreParts["openCredentials"] = async () => {
    const credentials = await import("../server/auth/credentials/open-credentials.ts");
    return opened.adopt(credentials.openCredentials(file), async (part) => part.close());
  };
  return {
    address: store,
    openCredentials,
    openLog: async (options) => opened.adopt(await openPrivateLog(store, options), async (part) => part.close()),
    findCredentials: async () => (fileExists(file) ? openCredentials() : undefined),
    openRateCounters: async () => undefined,
    openBlobs: async (limits) => {
      const { openBlobStore } = await import("../server/blobs/open-blob-store.ts");
      return opened.adopt(await openBlobStore(`${store}-blobs`, limits), async (part) => part.close());
    },
    openKnowledge: async () => undefined,
    [Symbol.asyncDispose]: async () => opened.disposeAsync(),
  };
}

/** The files of a log get permissions for their owner only. */
async function openPrivateLog(store: string, options: StoreOptions): Promise<StoredLog> {
  const before = process.umask(0o077);
  try {
    return await openLog(store, options);
  } finally {
    process.umask(before);
  }
}

function fileExists(file: string): boolean {
  try {
    return lstatSync(file, { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    throw asStoreError(error, file);
  }
}
