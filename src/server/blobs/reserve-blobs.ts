/** Charges the blobs of a session to the quota of its owner, which the log decides. */
import type { Log } from "../../log/index.ts";
import type { PutBlobOptions } from "./blob-store.ts";

/** The `reserve` option of `put`. Undefined without a quota for blobs: the log need not know them then. */
export function reserveIn(log: Pick<Log, "limits" | "setBlobUsage">, sessionId: string): PutBlobOptions["reserve"] {
  const { maxOwnerBlobs, maxOwnerBlobBytes } = log.limits;
  if (maxOwnerBlobs === Infinity && maxOwnerBlobBytes === Infinity) return undefined;
  return (usage) => log.setBlobUsage(sessionId, usage);
}
