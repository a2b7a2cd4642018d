/**
 * Remembers the run of each session's last batch. Most batches continue that run, and need not change any index.
 */
import { BoundedMap } from "../protocol/bounded-map.ts";
import type { IndexChanges } from "./index-changes.ts";
import type { Append } from "./log.ts";

const NO_STARTS: IndexChanges["starts"] = [];

export class KnownRuns {
  /** Epoch and run of each session's last batch that changed an index; that run is indexed. */
  readonly #runs: BoundedMap<string>;

  constructor(maxSessions: number) {
    this.#runs = new BoundedMap(maxSessions);
  }

  /**
   * Removes index changes that are already stored; undefined if none is left. Only within an epoch, because the session
   * may have been recreated in between.
   */
  omitKnown({ sessionId, epoch }: Append, changes: IndexChanges): IndexChanges | undefined {
    const { starts, ends, landmarks, answered, texts } = changes;
    const isKnown =
      starts.length === 0 || (starts.length === 1 && `${epoch} ${starts[0]?.runId}` === this.#runs.get(sessionId));
    if (isKnown && ends.length + landmarks.length + answered.length + texts.length === 0) return undefined;
    return isKnown ? { ...changes, starts: NO_STARTS } : changes;
  }

  /** Call after the changes are stored. */
  note({ sessionId, epoch }: Append, changes: IndexChanges | undefined): void {
    if (changes !== undefined && changes.starts !== NO_STARTS)
      this.#runs.set(sessionId, `${epoch} ${changes.starts.at(-1)?.runId}`);
  }
}
