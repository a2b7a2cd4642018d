/** Storage quotas of an owner: how they are named and checked. Every log decides them where it stores the data. */
import { LoomError } from "../protocol/loom-error.ts";
import type { LogLimits } from "./log-limits.ts";

/** What an owner has stored. */
export interface OwnerUsage {
  readonly sessions: number;
  /** Bytes of all records. */
  readonly bytes: number;
  readonly blobs: number;
  readonly blobBytes: number;
}

/** The limits of a log that are quotas. */
export type OwnerQuotas = Pick<LogLimits, (typeof QUOTAS)[keyof OwnerUsage]>;

const QUOTAS = {
  sessions: "maxOwnerSessions",
  bytes: "maxOwnerBytes",
  blobs: "maxOwnerBlobs",
  blobBytes: "maxOwnerBlobBytes",
} as const satisfies { readonly [name in keyof OwnerUsage]: keyof LogLimits };

const NOUNS: { readonly [name in keyof OwnerUsage]: string } = {
  sessions: "sessions",
  bytes: "bytes of sessions",
  blobs: "files",
  blobBytes: "bytes of files",
};

const NAMES = Object.keys(QUOTAS) as readonly (keyof OwnerUsage)[];

export const NO_USAGE: OwnerUsage = { sessions: 0, bytes: 0, blobs: 0, blobBytes: 0 };

export function hasQuotas(limits: OwnerQuotas): boolean {
  return NAMES.some((name) => limits[QUOTAS[name]] !== Infinity);
}

export function addUsage(used: OwnerUsage, more: Partial<OwnerUsage>): OwnerUsage {
  const { sessions = 0, bytes = 0, blobs = 0, blobBytes = 0 } = more;
  return {
    sessions: used.sessions + sessions,
    bytes: used.bytes + bytes,
    blobs: used.blobs + blobs,
    blobBytes: used.blobBytes + blobBytes,
  };
}

/** Throws `quota_exceeded` if more does not fit. Less always fits. */
export function assertQuota(used: OwnerUsage, more: Partial<OwnerUsage>, limits: OwnerQuotas): void {
  for (const name of NAMES) {
    const limit = limits[QUOTAS[name]];
    const added = more[name] ?? 0;
    if (added > 0 && used[name] + added > limit) throw quotaExceeded(name, limit);
  }
}

export function quotaExceeded(name: keyof OwnerUsage, limit: number): LoomError {
  return new LoomError(
    "quota_exceeded",
    `Storage quota reached: at most ${limit} ${NOUNS[name]}; delete sessions to continue`,
    { quota: name, limit },
  );
}
