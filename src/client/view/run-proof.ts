/**
 * Checks whether every frame of one run was received: counts them and compares the count and IDs with run_end. Filtered
 * runs are not checked this way; their frames state their predecessors.
 */
import type { Envelope, RunEndEvent } from "../../protocol/events.generated.ts";

export class RunProof {
  #frames = 0;
  #firstId: number | undefined;
  #isFiltered = false;
  /** True while no frame can be missing since run_start. */
  holds: boolean;
  /** The run_start was received. */
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

  /** Compares run_end with the received frames. Returns the mismatch, or undefined if there is none. */
  findFault(end: RunEndEvent | undefined, { event_id }: Envelope): string | undefined {
    if (end === undefined || !this.isStarted || this.#isFiltered) return undefined;
    const claims = [
      ["number of frames", end.frame_count, this.#frames],
      ["first event", end.first_event_id, this.#firstId],
      ["last event", end.last_event_id, event_id],
    ] as const;
    const wrong = claims.find(
      ([, claimed, actual]) => claimed !== undefined && actual !== undefined && claimed !== actual,
    );
    return wrong === undefined ? undefined : `run_end reports ${wrong[1]} as the ${wrong[0]}, but it is ${wrong[2]}`;
  }
}
