/**
 * Who comes in, and what they may do: the one place that every door asks. Identification happens once, at the entrance;
 * leave is asked for every action and every session that is named; whatever goes on for long is watched, and ends when
 * the leave does.
 */
import type { LoomError } from "../../protocol/index.ts";
import type { Observer } from "../../observe/index.ts";
import type { Caller, Authorize, RequestInfo } from "../guard/authorize.ts";
import type { AccessDesk } from "./access-desk.ts";
import type { BegunRun } from "./limits/live-runs.ts";
import type { Principal } from "./principal.ts";

export interface Access {
  /** Nobody is asked who they are. */
  readonly isOpen: boolean;
  /** Where credentials are handed out and taken back; undefined where nobody is asked who they are. */
  readonly desk: AccessDesk | undefined;
  /**
   * Who asks, by what they bring: a header, a cookie, a ticket. Nobody where they bring nothing. Throws `unauthorized`
   * for what is shown and no good, and `rate_limited`.
   */
  identify(stranger: RequestInfo): Promise<Identity>;
  /** Throws `unauthorized`, `forbidden`, or `unknown_session` for what belongs to others: as if it were not there. */
  readonly authorize: Authorize;
  /**
   * Calls `onEnd` once, when whoever asks may no longer: revoked, expired, or the session is no longer theirs; within two
   * seconds. Throws `too_many_streams`. What it gives must be called when it is over.
   */
  watch(caller: Caller, session: string | undefined, onEnd: (why: LoomError) => void): () => void;
  /** One more request of somebody who has come in: a frame on a socket. Throws `unauthorized` and `rate_limited`. */
  countRequest(caller: Caller): void;
  /** Before a run is begun. Throws `forbidden` for an agent, `rate_limited`, `too_many_runs`, `spend_exceeded`. */
  admitRun(caller: Caller, run: NewRun): Promise<void>;
  /** When its turn has come. Throws `unauthorized` where whoever asked for it has been revoked since. */
  admitTurn(run: { readonly actor?: string | undefined }): void;
  /** To be told of all runs of the server: what models use up is counted for those who began them. */
  readonly observers: readonly Observer[];
  close(): void;
}

/** A run that is about to be begun. */
export interface NewRun extends BegunRun {
  readonly agent: string;
}

export interface Identity {
  readonly principal: Principal;
  /** Links that were opened in the same browser: each lets its session be read. */
  readonly shares: readonly Principal[];
}
