/** The snapshots of a session of the in-memory log, in the order in which they were saved. */
import type { EncoderSnapshot } from "./log.ts";
import type { LogLimits } from "./log-limits.ts";
import { MAX_SNAPSHOTS } from "./rules.ts";

/** Returns the latest snapshot with this key at or before record `id`. */
export function findLatestSnapshot(
  snapshots: readonly EncoderSnapshot[],
  key: string,
  id: number,
): EncoderSnapshot | undefined {
  let latest: EncoderSnapshot | undefined;
  for (const snapshot of snapshots)
    if (snapshot.key === key && snapshot.eventId <= id && snapshot.eventId > (latest?.eventId ?? 0)) latest = snapshot;
  return latest;
}

/** Adds a snapshot, and removes the oldest beyond the limits. */
export function addSnapshot(
  snapshots: EncoderSnapshot[],
  added: EncoderSnapshot,
  { maxSessionSnapshotBytes }: LogLimits,
): void {
  const known = snapshots.findIndex(({ key, eventId }) => key === added.key && eventId === added.eventId);
  if (known !== -1) snapshots.splice(known, 1);
  snapshots.push(added);
  let bytes = 0;
  const isKept = ({ state }: EncoderSnapshot, index: number): boolean => {
    bytes += state.length;
    return bytes <= maxSessionSnapshotBytes && snapshots.length - index <= MAX_SNAPSHOTS;
  };
  const last = snapshots.findLastIndex((snapshot, index) => !isKept(snapshot, index));
  snapshots.splice(0, last + 1);
}
