/**
 * Authentication and authorization, as the rest of the server uses them. A request is identified once, when it arrives;
 * every action and every named session is authorized; long-lived streams and sockets are closed when access ends.
 */
import type { RunLimit } from "../../log/log-limits.ts";
import type { LoomError } from "../../protocol/index.ts";
import type { Observer } from "../../observe/index.ts";
import type { Authorize, Caller, Identity } from "./authorize.ts";
import type { RequestInfo } from "../guard/read-request-info.ts";
import type { Principal, PrincipalLimits } from "./principal.ts";
import type { Credentials } from "./credentials/credentials.ts";
import type { JSONWebKeySet } from "jose";
import type { RateCounters } from "./limits/rates.ts";
import type { Scope } from "./scopes.ts";

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
  /** Counts one more request of an identified caller, such as a frame on a socket. Rejects with `rate_limited`. */
  countRequest(caller: Caller): Promise<void>;
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

/** What the authentication endpoints need: verify a credential, and issue cookies, tickets and share links. */
export interface AuthService {
  /** Store of tokens, cookies, tickets and share links. */
  readonly credentials: Credentials;
  /** Lifetime of a browser sign-in and of a ticket, in milliseconds. */
  readonly cookieMs: number;
  readonly ticketMs: number;
  /**
   * Returns the principal of a token, share link or JWT; cookies and tickets are not accepted. Throws `unauthorized`
   * with the same message for every invalid credential, and `rate_limited` when the address sent too many invalid
   * credentials or the principal sent too many requests.
   */
  authenticate(text: string, request: RequestInfo): Promise<Principal>;
}

/** A user that `authenticate` found. */
export interface AuthenticatedUser {
  /**
   * Owner of the sessions the user reads and creates: 1 to 200 characters without spaces at either end. `local` and names
   * that begin with `jwt:`, `token:`, `share:` or `user:` are reserved.
   */
  readonly owner: string;
  /** What the user may do. Default: nothing. */
  readonly scopes?: readonly Scope[] | undefined;
}

/**
 * Finds the user of a request with your own login. The request has no body, and its signal aborts at the time limit;
 * cookies are removed unless a page of the server's own origin sent them.
 */
export type Authenticate = (
  request: Request,
) => AuthenticatedUser | null | undefined | Promise<AuthenticatedUser | null | undefined>;

/** Accepts Loom tokens (`credentials`), JWTs of another issuer (`jwt`), your own login (`authenticate`), or several. */
export interface AuthOptions {
  /** Store of tokens, cookies, tickets and share links: `openCredentials(file)`. The server does not close it. */
  readonly credentials?: Credentials | undefined;
  /** JWTs to accept. Default: none. */
  readonly jwt?: JwtOptions | undefined;
  /**
   * Your own login, called for requests and WebSockets without a Loom credential. `undefined` is answered with 401. If it
   * throws, or returns an invalid user, the answer is 500 and `onError` receives the error. Default: none.
   */
  readonly authenticate?: Authenticate | undefined;
  /** Time limit of `authenticate`, in milliseconds. Code `login_unavailable` (503). Default: 5,000. */
  readonly authenticateMs?: number | undefined;
  /**
   * Time between two checks of an open stream or socket with `authenticate`, in milliseconds. It is called with the
   * headers of the start again, and the connection ends if the user or the scopes changed. The first check may be due after
   * half of it. Default: 60,000.
   */
  readonly recheckMs?: number | undefined;
  /** Limits for credentials that set none. Default: `DEFAULT_PRINCIPAL_LIMITS`. */
  readonly limits?: PrincipalLimits | undefined;
  /**
   * Counts requests, started runs and invalid credentials per minute. Default: in memory, so each process has the whole
   * limit.
   */
  readonly rateCounters?: RateCounters | undefined;
  /** Lifetime of a browser sign-in, in milliseconds. Default: 7 days. */
  readonly cookieMs?: number | undefined;
  /** Lifetime of a ticket, in milliseconds. Default: 30,000. */
  readonly ticketMs?: number | undefined;
  /** Invalid credentials from one address per minute before it gets `rate_limited`. Default: 20. */
  readonly maxFailures?: number | undefined;
  /**
   * How long an accepted run waits at its start while earlier usage of its credential cannot be recorded, in milliseconds.
   * Then it ends with `spend_unrecorded`. Default: 30,000.
   */
  readonly maxUnrecordedMs?: number | undefined;
}

/** Which JWTs of another issuer a server accepts. */
export interface JwtOptions {
  /** JWKS URL of the token issuer, or the key set itself. */
  readonly jwks: string | JSONWebKeySet;
  /** Required value of the `iss` claim. */
  readonly issuer: string;
  /** Required value of the `aud` claim. */
  readonly audience: string;
  /** The most scopes a JWT can have: its other scopes are ignored. Default: `read`, `write`, `run` and `approve`. */
  readonly scopes?: readonly Scope[] | undefined;
  /** Scopes of a JWT that names no Loom scope, all of them within `scopes`. Default: none. */
  readonly defaultScopes?: readonly Scope[] | undefined;
  /** Text before the name of a scope in a claim. With an empty text, `read` counts as a scope. Default: `loom:`. */
  readonly scopePrefix?: string | undefined;
}
