/** Keeps notices from filling a log, however often and by however many names somebody knocks. */
import type { Notify } from "./notice.ts";

export interface NotifyLimits {
  /** Of one name, one notice in so long. */
  readonly everyMs?: number;
  /** Names that are remembered; while so many are, others are told of when the first may be told of again. */
  readonly maxNames?: number;
}

/** Tells of each name once in a while. */
export function limitNotices(notify: Notify, { everyMs = 60_000, maxNames = 100 }: NotifyLimits = {}): Notify {
  const told = new Map<string, number>();
  return (notice) => {
    const now = Date.now();
    // Oldest first, as they were put in.
    for (const [key, at] of told) {
      if (now - at < everyMs) break;
      told.delete(key);
    }
    const key = `${notice.what} ${notice.name}`;
    if (told.has(key) || told.size >= maxNames) return;
    told.set(key, now);
    notify(notice);
  };
}
