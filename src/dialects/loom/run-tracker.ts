/** Finds the run of frames that do not name one: the current run of their session. */
import { BoundedMap } from "../../protocol/bounded-map.ts";
import type { Envelope } from "../../protocol/index.ts";
import { type AnyEvent, isTerminal } from "../../protocol/record.ts";

export type MutableEnvelope = { -readonly [K in keyof Envelope]: Envelope[K] };

const MAX_SESSIONS = 10_000;

interface CurrentRun {
  readonly runId: string | undefined;
  /** True once a frame after run_start named its run; from then on, frames without a run ID belong to no run. */
  explicit: boolean;
}

export class RunTracker {
  readonly #runs = new BoundedMap<CurrentRun>(MAX_SESSIONS);
  /** Cache of the last lookup, because consecutive frames usually share a session. */
  #session: string | undefined;
  #run: CurrentRun | undefined;

  /** Adds the missing run ID to the envelope, and tracks where runs start and end. */
  attribute(envelope: MutableEnvelope, event: AnyEvent): void {
    const session = envelope.session_id ?? "";
    if (event.type === "run_start") {
      this.#set(session, { runId: envelope.run_id, explicit: false });
      return;
    }
    const run = this.#get(session);
    if (run === undefined) return;
    if (envelope.run_id !== undefined) run.explicit = true;
    else if (!run.explicit && run.runId !== undefined) envelope.run_id = run.runId;
    if (isTerminal(event) && envelope.run_id === run.runId) this.#set(session, undefined);
  }

  #get(session: string): CurrentRun | undefined {
    if (session === this.#session) return this.#run;
    this.#session = session;
    this.#run = this.#runs.get(session);
    return this.#run;
  }

  #set(session: string, run: CurrentRun | undefined): void {
    if (run === undefined) this.#runs.delete(session);
    else this.#runs.set(session, run);
    this.#session = session;
    this.#run = run;
  }
}
