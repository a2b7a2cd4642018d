/** The identity behind a request: its owner, scopes and limits. */
import { LOCAL_OWNER } from "../../log/rules.ts";
import { LoomError, type ToolRules } from "../../protocol/index.ts";
import { type Scope, SCOPES } from "./scopes.ts";

export type { ToolRule, ToolRules } from "../../protocol/tool-rules.ts";

/** An authenticated or anonymous identity. */
export interface Principal {
  /**
   * - `local`: authentication is off.
   * - `anonymous`: authentication is on, and the request has no credential.
   * - `token`: a Loom token, directly or through a cookie or ticket.
   * - `jwt`: a JWT of another issuer.
   * - `user`: a user of the application's own login.
   * - `share`: a share link to one session.
   */
  readonly kind: "local" | "anonymous" | "token" | "jwt" | "user" | "share";
  /**
   * Id of the credential for logs, limits and records: `token:k3x9…`, `jwt:alice`, `user:alice`, `share:p0q2…`. Never a
   * secret.
   */
  readonly id: string;
  /** Key for counting requests and streams, if not the id: all share links of one maker share an account. */
  readonly account?: string | undefined;
  /** Display name: the name of a token, or the `sub` of a JWT. */
  readonly name: string;
  /** Owner of the sessions it reads and creates. */
  readonly owner: string;
  readonly scopes: ReadonlySet<Scope>;
  /** For a share link: the only session it is valid for, and that session's incarnation. */
  readonly session?: { readonly id: string; readonly incarnation: string } | undefined;
  /** For a ticket bound to one session: the ID of that session. All others do not exist for it. */
  readonly only?: string | undefined;
  /** Names of the agents it may start. Default: all. */
  readonly agents?: readonly string[] | undefined;
  /** Rules for tools by name, `*` for all others. They apply in addition to the rules of the tools themselves. */
  readonly tools?: ToolRules | undefined;
  readonly limits: PrincipalLimits;
  /**
   * Id of the cookie it was found by, directly or through a ticket. The principal is valid until the cookie is deleted.
   */
  readonly cookie?: string | undefined;
  /** Expiry in milliseconds since 1970. Default: never. */
  readonly expiresAt?: number | undefined;
  /** For a user of the application's own login: whether the login is still valid. */
  readonly login?: LoginLease | undefined;
}

/** The login of one request or connection, which is checked with the headers of that request. */
export interface LoginLease {
  /** Distinguishes the connections of a user. */
  readonly key: string;
  /** Returns why access has ended, undefined while it has not. Starts another check if one is due, and does not wait for it. */
  check(): LoomError | undefined;
  /** For an action: waits for the check. Also returns an error if the latest check failed. */
  confirm(): Promise<LoomError | undefined>;
}

/** Limits of one credential. Absent fields use the limits of the server. */
export interface PrincipalLimits {
  /** Maximum requests per minute. Code `rate_limited`. */
  readonly requestsPerMinute?: number | undefined;
  /** Maximum runs started per minute. Code `rate_limited`. */
  readonly runsPerMinute?: number | undefined;
  /** Maximum live and queued runs. Code `too_many_runs`. */
  readonly maxRuns?: number | undefined;
  /** Maximum open streams and sockets. Code `too_many_streams`. */
  readonly maxStreams?: number | undefined;
  /** Maximum concurrent searches; further ones wait. Code `too_many_searches` if too many wait. */
  readonly maxSearches?: number | undefined;
  /** Maximum model tokens per UTC day, input and output together. Code `spend_exceeded`. */
  readonly tokensPerDay?: number | undefined;
}

/** Limits that apply when neither the credential nor the server sets one. Model tokens are unlimited. */
export const DEFAULT_PRINCIPAL_LIMITS = {
  requestsPerMinute: 600,
  runsPerMinute: 60,
  maxRuns: 20,
  maxStreams: 100,
  maxSearches: 2,
} as const satisfies Required<Omit<PrincipalLimits, "tokensPerDay">>;

/** Key under which requests and streams of the principal are counted. */
export function accountOf({ account, id }: Principal): string {
  return account ?? id;
}

/** Throws `forbidden` if the credential may not use the agent. Runs without an agent name are allowed. */
export function assertAgentAllowed({ agents }: Pick<Principal, "agents">, agent: string | undefined): void {
  if (agents === undefined || agent === undefined || agents.includes(agent)) return;
  throw new LoomError("forbidden", `This credential may not use the agent "${agent.slice(0, 100)}"`, { agent });
}

/** Every caller when authentication is off. */
export const LOCAL: Principal = {
  kind: "local",
  id: "local",
  name: "local",
  owner: LOCAL_OWNER,
  scopes: new Set(SCOPES),
  limits: {},
};

/** A caller without a credential. */
export const ANONYMOUS: Principal = {
  kind: "anonymous",
  id: "anonymous",
  name: "anonymous",
  owner: "",
  scopes: new Set(),
  limits: {},
};

/** Does not say what was wrong with a credential. */
export function unauthorized(wasPresented: boolean): LoomError {
  return new LoomError(
    "unauthorized",
    wasPresented
      ? "Invalid credential: it is unknown, revoked, expired, already used, or not accepted here"
      : "Authentication required: send `Authorization: Bearer` with a token, or sign in",
  );
}

/** The end of a connection whose credential or session is no longer valid. */
export function accessEnded(): LoomError {
  return new LoomError(
    "unauthorized",
    "Access has ended: the credential was revoked or expired, or the session is no longer available. Sign in again or use another token.",
  );
}
