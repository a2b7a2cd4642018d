/** The interface through which a server reports itself: its store, what its parts hold, and who signs in. */
import type { LogMonitor } from "../../log/log-monitor.ts";

/** How a request authenticated: `user` by the application's own login, `none` has no credential. */
export type CredentialKind = "token" | "jwt" | "user" | "share" | "ticket" | "cookie" | "none";

/**
 * `anonymous`: the request has no credential. `limited`: too many requests or invalid credentials. `failed`: the
 * credential could not be checked.
 */
export type AuthenticationOutcome = "accepted" | "anonymous" | "rejected" | "limited" | "failed";

/** What a server reports when it is asked. */
export interface ServerGauges {
  /** Monitor of its log; undefined if the log has none. */
  readonly log: LogMonitor | undefined;
  /** Bytes that a part of the server holds in memory now, by name of the part. A part is added here. */
  readonly heldBytes: { readonly [part: string]: () => number };
  /** Sessions this process holds, and open WebSockets. */
  readonly heldSessions: () => number;
  readonly openSockets: () => number;
}

/** Receives the state of a server. */
export interface ServerMeter {
  /** A server was created. It is read with every scrape until the returned function is called. */
  watchServer(server: ServerGauges): () => void;
  /** A request was authenticated, or not. Not called if authentication is off. */
  countAuthentication(kind: CredentialKind, outcome: AuthenticationOutcome): void;
  /** The store cannot be written any more, with this error code. */
  countStoreFault(code: string): void;
  /** An entry of the audit log could not be written. */
  countAuditFailure(): void;
}
