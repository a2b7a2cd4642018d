/** Authentication options of a server. */
import type { JSONWebKeySet } from "jose";
import type { Credentials } from "./credentials/credentials.ts";
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
  /** Lifetime of a browser sign-in, in milliseconds. Default: 7 days. */
  readonly cookieMs?: number | undefined;
  /** Lifetime of a ticket, in milliseconds. Default: 30,000. */
  readonly ticketMs?: number | undefined;
  /** Invalid credentials from one address per minute before it gets `rate_limited`. Default: 20. */
  readonly maxFailures?: number | undefined;
}

/** Which JWTs of another issuer a server accepts. */
export interface JwtOptions {
  /** JWKS URL of the token issuer, or the key set itself. */
  readonly jwks: string | JSONWebKeySet;
  /** Required value of the `iss` claim. */
  readonly issuer: string;
  /** Required value of the `aud` claim. */
  readonly audience: string;
  /** Scopes of a JWT that names none. Default: none. */
  readonly scopes?: readonly Scope[] | undefined;
}
