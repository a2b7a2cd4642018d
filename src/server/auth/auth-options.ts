/** Authentication options of a server. */
import type { JSONWebKeySet } from "jose";
import type { Credentials } from "./credentials/credentials.ts";
import type { RateCounters } from "./limits/rate-counters.ts";
import type { PrincipalLimits } from "./principal.ts";
import type { Scope } from "./scopes.ts";

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
