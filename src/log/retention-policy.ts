/** Which runs a log may delete, and what a deletion reports. See `Log.prune`. */

/**
 * Limits beyond which runs are pruned. Only ended runs are removed, oldest first, together with the records before
 * them, and never a run that started after a live one. A session without runs is kept until it is deleted.
 */
export interface RetentionPolicy {
  /** Prunes runs that ended longer ago than this, in milliseconds. Default: no limit. */
  readonly maxAgeMs?: number;
  /** Maximum size of a session in bytes. Default: no limit. */
  readonly maxSessionBytes?: number;
  /** Maximum size of all sessions in bytes. Default: no limit. */
  readonly maxBytes?: number;
  /** The current time in milliseconds since 1970. Default: now. */
  readonly now?: number;
}

/** What a prune removed. */
export interface PruneReport {
  readonly runs: number;
  readonly records: number;
  /** Size of the removed records, without the prompts that are kept because later runs refer to them. */
  readonly bytes: number;
  /** True if another call, perhaps of another process, is pruning the store; absent otherwise. This call then stopped. */
  readonly isBusy?: true;
  /** IDs of damaged sessions that were skipped; absent if there were none. */
  readonly damaged?: readonly string[];
}
