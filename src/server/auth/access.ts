/**
 * Authentication and authorization, as the rest of the server uses them. A request is identified once, when it arrives;
 * every action and every named session is authorized; long-lived streams and sockets are closed when access ends.
 */
import type { RunLimit } from "../../log/log-limits.ts";
import type { LoomError } from "../../protocol/index.ts";
import type { Observer } from "../../observe/index.ts";
import type { Caller, Authorize } from "./authorize.ts";
import type { RequestInfo } from "../guard/read-request-info.ts";
import type { AuthService } from "./auth-service.ts";
import type { Principal } from "./principal.ts";

export interface Access {
  /** Whether authentication is off. */
  readonly isOpen: boolean;
  /** Verifies and issues credentials. Undefined when authentication is off, until the first share link is created. */
  findAuthService(): Promise<AuthService | undefined>;
  /** The same, and creates the store of share links if authentication is off. Throws `unsupported` if there is none. */
  openAuthService(): Promise<AuthService>;
  /**
   * Identifies a request by its `Authorization` header, ticket or cookies, or by the application's own login unless
   * `skipsLogin` is set; the principal is `ANONYMOUS` when none of them finds one. Throws `unauthorized` for an invalid
   * credential, `rate_limited`, and what the login throws.
   */
  identify(request: RequestInfo, options?: IdentifyOptions): Promise<Identity>;
  /** Throws `unauthorized` or `forbidden`; `unknown_session` for a session of another owner, as if it did not exist. */
  readonly authorize: Authorize;
  /**
   * Calls `onEnd` once, within two seconds, when the credential is revoked or expires or the session is no longer
   * readable. Throws `too_many_streams`. The caller must call the returned function when the stream or socket closes.
   */
  watch(caller: Caller, session: string | undefined, onEnd: (why: LoomError) => void): () => void;
  /**
   * Counts one more request of an identified caller, such as a frame on a socket. Rejects with `rate_limited`. Absent if
   * requests are not counted.
   */
  readonly countRequest?: ((caller: Caller) => Promise<void>) | undefined;
  /** Runs a search when the caller has fewer than its maximum. Throws `too_many_searches` if too many wait. */
  runSearch<T>(caller: Caller, signal: AbortSignal, search: () => Promise<T>): Promise<T>;
  /**
   * Checks that the caller may start a run of the agent. Throws `forbidden` for the agent, `rate_limited`,
   * `spend_exceeded`, `spend_unrecorded`.
   */
  admitRun(caller: Caller, agent: string): Promise<void>;
  /** Returns how many runs the caller may have at once, which the log checks. Undefined: any number. */
  runLimitOf(caller: Caller): RunLimit | undefined;
  /**
   * Checks again when a queued run is about to start. Throws `unauthorized` if the token that requested it was revoked.
   * Waits while earlier usage cannot be recorded, and then throws `spend_unrecorded`.
   */
  admitTurn(run: { readonly actor?: string | undefined; readonly signal: AbortSignal }): Promise<void>;
  /** Counts model tokens that were used for a principal outside of a run. */
  countTokens(actor: string, tokens: number): void;
  /** Must observe all runs of the server: they count model tokens per principal. */
  readonly observers: readonly Observer[];
  /** Stores usage that is not stored yet. */
  close(): Promise<void>;
}

export interface IdentifyOptions {
  readonly skipsLogin?: boolean | undefined;
  /** The request is for the page or for a sign-in, so it may come from another machine without a valid share link. */
  readonly isBeforeLink?: boolean | undefined;
}

export interface Identity {
  readonly principal: Principal;
  /** Share links opened in the same browser; each allows reading its session. */
  readonly shares: readonly Principal[];
}
