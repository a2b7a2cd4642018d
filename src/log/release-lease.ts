/** Releases leases, also when the log fails for a while. */
import { isLoomError } from "../protocol/index.ts";
import { BackOff } from "./back-off.ts";
import type { Lease, Log, ReleaseOptions } from "./log.ts";

const FIRST_PAUSE_MS = 100;

/**
 * Releases a lease. If the log fails, resolves and tries again in the background: a lease that its process has given up
 * would keep the session from everyone until it expires, which is long after the clock was set back.
 */
export async function releaseLease(
  log: Pick<Log, "release">,
  lease: Lease,
  options: ReleaseOptions = {},
): Promise<void> {
  const release = async (): Promise<void> => {
    try {
      await log.release(lease, options);
    } catch (error) {
      if (!isLoomError(error, "fenced", "unknown_session", "store_closed")) throw error;
    }
  };
  await release().catch(() => new BackOff(FIRST_PAUSE_MS, release).plan());
}
