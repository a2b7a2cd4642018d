/** Limits notices, so that rejected requests cannot fill a log. */
import type { Notify } from "./notice.ts";

export interface NotifyLimits {
  /** Time between two notices for one name, in milliseconds. Default: 60,000. */
  readonly everyMs?: number;
  /** Names to remember. While that many are remembered, new names are not reported. Default: 100. */
  readonly maxNames?: number;
}

/** Passes on at most one notice per name and interval. */
export function limitNotices(notify: Notify, { everyMs = 60_000, maxNames = 100 }: NotifyLimits = {}): Notify {
  const notified = new Map<string, number>();
  return (notice) => {
    const now = Date.now();
    // Oldest first, by insertion order.
    for (const [key, at] of notified) {
      if (now - at < everyMs) break;
      notified.delete(key);
    }
    const key = `${notice.kind} ${notice.name}`;
    if (notified.has(key) || notified.size >= maxNames) return;
    notified.set(key, now);
    notify(notice);
  };
}
