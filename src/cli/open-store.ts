/** Opens the session store. The files of a store get permissions for their owner only. */
import { openLog, type StoredLog, type StoreOptions } from "../log/open-log.ts";

export async function openStore(store: string, options: StoreOptions): Promise<StoredLog> {
  const before = process.umask(0o077);
  try {
    return await openLog(store, options);
  } finally {
    process.umask(before);
  }
}
