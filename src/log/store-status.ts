/** What a store contains and which versions its tables have, without opening it as a log: nothing is changed. */

/** The tables of one part of a store: `log`, and in a database also those of the server. */
export interface StoredPartVersion {
  readonly name: string;
  /** 0 if there are no tables. */
  readonly stored: number;
  /** Version that this program creates. */
  readonly supported: number;
}

export interface StoreCounts {
  readonly sessions: number;
  readonly records: number;
  /** Size of the records in bytes. */
  readonly bytes: number;
  readonly liveRuns: number;
  readonly pendingCommands: number;
  /** Processes that hold a lease of a session. */
  readonly workers: number;
}

export interface StoreStatus {
  readonly versions: readonly StoredPartVersion[];
  /** Undefined if there are no tables. */
  readonly counts: StoreCounts | undefined;
}
