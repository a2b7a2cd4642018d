/**
 * Which run a frame belongs to that does not say so itself: the one its session is in.
 */
import { BoundedMap } from "../../protocol/bounded-map.ts";
import type { Envelope } from "../../protocol/index.ts";
import { type AnyEvent, isTerminal } from "../../protocol/record.ts";

export type MutableEnvelope = { -readonly [K in keyof Envelope]: Envelope[K] };

const MAX_SESSIONS = 10_000;

interface Turn {
  readonly runId: string | undefined;
  /** A frame after run_start named its run: from then on a frame that names none belongs to none. */
  explicit: boolean;
}

export class Turns {
  readonly #turns = new BoundedMap<Turn>(MAX_SESSIONS);
  /** The session asked for last: frames come in long rows of one. */
  #session: string | undefined;
  #turn: Turn | undefined;

  /** Puts the run into the envelope where it is missing, and notes where runs begin and end. */
  attribute(envelope: MutableEnvelope, event: AnyEvent): void {
    const session = envelope.session_id ?? "";
    if (event.type === "run_start") {
      this.#set(session, { runId: envelope.run_id, explicit: false });
      return;
    }
    const turn = this.#get(session);
    if (turn === undefined) return;
    if (envelope.run_id !== undefined) turn.explicit = true;
    else if (!turn.explicit && turn.runId !== undefined) envelope.run_id = turn.runId;
    if (isTerminal(event) && envelope.run_id === turn.runId) this.#set(session, undefined);
  }

  #get(session: string): Turn | undefined {
    if (session === this.#session) return this.#turn;
    this.#session = session;
    this.#turn = this.#turns.get(session);
    return this.#turn;
  }

  #set(session: string, turn: Turn | undefined): void {
    if (turn === undefined) this.#turns.delete(session);
    else this.#turns.set(session, turn);
    this.#session = session;
    this.#turn = turn;
  }
}
