/**
 * Whether every frame of one run is here. Each frame is counted; run_end says how many there were, and with which ids
 * the run begins and ends. A run that was filtered on the way is not asked: its frames say themselves what is before them.
 */
import type { Envelope, RunEndEvent } from "../../protocol/index.ts";

export class RunProof {
  #frames = 0;
  #firstId: number | undefined;
  #isFiltered = false;
  /** So far nothing can be missing: the run began with its run_start, and no frame after it can have been lost. */
  holds: boolean;
  /** Its run_start came. */
  isStarted: boolean;

  constructor(isStarted: boolean) {
    this.isStarted = isStarted;
    this.holds = isStarted;
  }

  count({ event_id, prev_event_id }: Envelope, sure: boolean): void {
    this.#frames++;
    this.#firstId ??= event_id;
    if (prev_event_id !== undefined) this.#isFiltered = true;
    if (!sure) this.holds = false;
  }

  /** What the run's end says against what came; undefined when they agree. */
  findFault(end: RunEndEvent | undefined, { event_id }: Envelope): string | undefined {
    if (end === undefined || !this.isStarted || this.#isFiltered) return undefined;
    const claims = [
      ["number of frames", end.frame_count, this.#frames],
      ["first event", end.first_event_id, this.#firstId],
      ["last event", end.last_event_id, event_id],
    ] as const;
    const wrong = claims.find(([, said, is]) => said !== undefined && is !== undefined && said !== is);
    return wrong === undefined ? undefined : `run_end says the ${wrong[0]} is ${wrong[1]}, it is ${wrong[2]}`;
  }
}
