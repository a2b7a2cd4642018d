/** Who asks, once that is known: whose sessions they see, and what they may do. It knows no request and no store. */
import { LOCAL_OWNER } from "../../log/index.ts";
import type { ToolRules } from "../../protocol/index.ts";
import { type Scope, SCOPES } from "./scopes.ts";

export type { ToolRule, ToolRules } from "../../protocol/index.ts";

export interface Principal {
  /**
   * - `local`: nobody is asked who they are.
   * - `nobody`: everybody is, and they did not say.
   * - `share`: somebody with a link to one session.
   */
  readonly kind: "local" | "nobody" | "token" | "jwt" | "share";
  /** Of the credential, for logs, limits and records: `token:k3x9…`, `jwt:alice`, `share:p0q2…`. Never a secret. */
  readonly id: string;
  /** What it is counted as, where that is not itself: the links that one credential made have one account. */
  readonly account?: string | undefined;
  /** For people: the name a token was given. */
  readonly name: string;
  /** Whose sessions it sees and makes. */
  readonly owner: string;
  readonly scopes: ReadonlySet<Scope>;
  /** Of a share: the only session it is for, as it was then. */
  readonly session?: { readonly id: string; readonly incarnation: string } | undefined;
  /** Of one found by a ticket for one session: no other is there for it, nor what is about all of them. */
  readonly only?: string | undefined;
  /** The agents it may start; all when absent. */
  readonly agents?: readonly string[] | undefined;
  /** What its runs may do with tools, by their names, `*` for those that are not named; a tool's own rules hold as well. */
  readonly tools?: ToolRules | undefined;
  readonly limits: PrincipalLimits;
  /** Of one found by a cookie, or by a ticket that was made for it: the cookie's id. It is good until it is deleted. */
  readonly cookie?: string | undefined;
  /** When it ends, in milliseconds since 1970. */
  readonly expiresAt?: number | undefined;
}

/** Of one credential. Absent: those of the server. */
export interface PrincipalLimits {
  /** Code `rate_limited`. */
  readonly requestsPerMinute?: number | undefined;
  /** Code `rate_limited`. */
  readonly runsPerMinute?: number | undefined;
  /** Runs that are live or wait for their turn. Code `too_many_runs`. */
  readonly maxRuns?: number | undefined;
  /** Streams and sockets at once. Code `too_many_streams`. */
  readonly maxStreams?: number | undefined;
  /** What models may use up in one day of UTC, prompts and answers together. Code `spend_exceeded`. */
  readonly tokensPerDay?: number | undefined;
}

/** Of credentials for which neither they nor the server say more. What models use up is not limited then. */
export const USUAL_LIMITS = {
  requestsPerMinute: 600,
  runsPerMinute: 60,
  maxRuns: 20,
  maxStreams: 100,
} as const satisfies PrincipalLimits;

/** What its requests and streams are counted as. */
export function accountOf({ account, id }: Principal): string {
  return account ?? id;
}

export const LOCAL: Principal = {
  kind: "local",
  id: "local",
  name: "local",
  owner: LOCAL_OWNER,
  scopes: new Set(SCOPES),
  limits: {},
};

export const NOBODY: Principal = {
  kind: "nobody",
  id: "nobody",
  name: "nobody",
  owner: "",
  scopes: new Set(),
  limits: {},
};
