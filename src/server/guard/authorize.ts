/**
 * Who may do what: the one place every door asks before it does anything, and again for every session that is named. By
 * default everybody may who has come past the checks of host and origin.
 */
export type Action =
  | "sessions.list"
  | "sessions.create"
  | "sessions.read"
  | "sessions.write"
  | "sessions.delete"
  | "runs.start"
  | "runs.control"
  | "ingest"
  | "blobs.read"
  | "blobs.write"
  | "images.read"
  | "knowledge.read"
  | "knowledge.write"
  | "server.read"
  | "metrics.read";

export interface Asker {
  readonly headers: Headers;
  readonly url: URL;
  /** The address of whoever asks, past proxies that are trusted; undefined where it is not known. */
  readonly address: string | undefined;
}

export interface AuthorizeRequest {
  readonly asker: Asker;
  readonly action: Action;
  readonly session?: string | undefined;
}

/** Resolves where it is allowed; throws `forbidden` or `unauthorized` where not. */
export type Authorize = (request: AuthorizeRequest) => Promise<void> | void;

export const allowAll: Authorize = () => undefined;
