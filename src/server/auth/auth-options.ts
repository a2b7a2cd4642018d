/** Authentication options of a server. */
import type { JSONWebKeySet } from "jose";
import type { Credentials } from "./credentials/credentials.ts";
import type { RateCounters } from "./limits/rate-counters.ts";
import type { PrincipalLimits } from "./principal.ts";
import type { Scope } from "./scopes.ts";

/** Accepts Loom tokens (`credentials`), JWTs of another issuer (`jwt`), or both. */
export interface AuthOptions {
  /** Store of tokens, cookies, tickets and share links: `openCredentials(file)`. The server does not close it. */
  readonly credentials?: Credentials | undefined;
  /** JWTs to accept. Default: none. */
  readonly jwt?: JwtOptions | undefined;
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
