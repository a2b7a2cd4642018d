/** How a server is told whom to let in. */
import type { JSONWebKeySet } from "jose";
import type { Credentials } from "./credentials/credentials.ts";
import type { PrincipalLimits } from "./principal.ts";
import type { Scope } from "./scopes.ts";

/** Tokens of our own, those of somebody else, or both. */
export interface AuthOptions {
  /** Of tokens, cookies, tickets and links: `openCredentials(file)`. Whoever opened it closes it. */
  readonly credentials?: Credentials | undefined;
  readonly jwt?: JwtOptions | undefined;
  /** Of credentials that have none of their own. What is absent here is as in `USUAL_LIMITS`. */
  readonly limits?: PrincipalLimits | undefined;
  /** How long a browser stays signed in; 7 days when absent. */
  readonly cookieMs?: number | undefined;
  /** How long a ticket is good; 30 seconds when absent. */
  readonly ticketMs?: number | undefined;
  /** Wrong credentials from one address within a minute, before it is asked to wait; 20 when absent. */
  readonly maxFailures?: number | undefined;
}

export interface JwtOptions {
  /** The keys: an address that gives them, or themselves. */
  readonly jwks: string | JSONWebKeySet;
  readonly issuer: string;
  readonly audience: string;
  /** Of one that names no scopes; none when absent. */
  readonly scopes?: readonly Scope[] | undefined;
}
