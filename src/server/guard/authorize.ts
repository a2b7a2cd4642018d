/**
 * Types of the authorization check. Every endpoint calls it before it acts, and again for every session a request
 * names.
 */
import type { Principal } from "../auth/principal.ts";

/** What a request does. Every action except `public` needs a scope. */
export type Action =
  /** Available without authentication: health, the API description and sign-in. */
  | "public"
  | "sessions.list"
  | "sessions.create"
  | "sessions.read"
  | "sessions.write"
  | "sessions.delete"
  | "sessions.share"
  | "runs.start"
  | "runs.control"
  | "runs.approve"
  | "ingest"
  | "blobs.read"
  | "blobs.write"
  | "images.read"
  | "knowledge.read"
  | "knowledge.write"
  | "server.read"
  | "metrics.read";

/** A request before it is authenticated. */
export interface RequestInfo {
  /** HTTP method in upper case; `UPGRADE` for a WebSocket. */
  readonly method: string;
  readonly headers: Headers;
  readonly url: URL;
  /** Client address, as reported by trusted proxies; undefined if unknown. */
  readonly address: string | undefined;
  /** Scheme and host as the client sees them: `https://agents.example.com`. */
  readonly origin: string;
}

/** A request with its identified principal. */
export interface Caller extends RequestInfo {
  readonly principal: Principal;
  /** Share links opened in the same browser; each allows reading its session. */
  readonly shares: readonly Principal[];
}

/** The action to authorize. */
export interface AuthorizeRequest {
  readonly caller: Caller;
  readonly action: Action;
  /** Id of the session the action is about, if it is about one. */
  readonly session?: string | undefined;
}

/** Returns if the action is allowed; throws `forbidden`, `unauthorized` or `unknown_session` if not. */
export type Authorize = (request: AuthorizeRequest) => Promise<void> | void;

export const allowAll: Authorize = () => undefined;
