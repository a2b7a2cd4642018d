/**
 * Who may do what: the one place every door asks before it does anything, and again for every session that is named. By
 * default everybody may who has come past the checks of host and origin.
 */
import type { Principal } from "../auth/principal.ts";

export type Action =
  /** What strangers may know: that the server lives, how it is asked, how one signs in. */
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

/** Whoever asks, before it is known who that is. */
export interface RequestInfo {
  /** As HTTP has it, in capitals; `UPGRADE` where a socket is wanted. */
  readonly method: string;
  readonly headers: Headers;
  readonly url: URL;
  /** The address of whoever asks, past proxies that are trusted; undefined where it is not known. */
  readonly address: string | undefined;
  /** Scheme and host as whoever asks has written them: `https://agents.example.com`. */
  readonly origin: string;
}

export interface Caller extends RequestInfo {
  readonly principal: Principal;
  /** Links that were opened in the same browser: each lets its session be read. */
  readonly shares: readonly Principal[];
}

export interface AuthorizeRequest {
  readonly caller: Caller;
  readonly action: Action;
  readonly session?: string | undefined;
}

/** Resolves where it is allowed; throws `forbidden`, `unauthorized` or `unknown_session` where not. */
export type Authorize = (request: AuthorizeRequest) => Promise<void> | void;

export const allowAll: Authorize = () => undefined;
