/**
 * URL fragments: `#/s/ID` is a session, `#/shared/ID` a session opened by a share link, `#share=SECRET` a share link.
 * `?run=ID&event=NUMBER` after a session opens the inspector there. Anything else is a new session.
 */
const MAX_LENGTH = 1000;

export function readRoute(hash: string): string | undefined {
  return readName(hash, /^#\/s\/([^/?]+)(?:\?run=[^?]*)?$/);
}

export function formatRoute(session: string | undefined): string {
  return session === undefined ? "#/" : `#/s/${encodeURIComponent(session)}`;
}

export function readSharedRoute(hash: string): string | undefined {
  return readName(hash, /^#\/shared\/([^/?]+)(?:\?run=[^?]*)?$/);
}

export function formatSharedRoute(session: string): string {
  return `#/shared/${encodeURIComponent(session)}`;
}

/** A frame of a run. */
export interface RunPosition {
  readonly runId: string;
  /** Undefined: the run as a whole. */
  readonly eventId: number | undefined;
}

/** Returns the position in a run that the route of a session names. */
export function readPosition(hash: string): RunPosition | undefined {
  const [, query = ""] = /^#\/(?:s|shared)\/[^/?]+\?(run=[^?]*)$/.exec(hash.slice(0, MAX_LENGTH)) ?? [];
  const values = new URLSearchParams(query);
  const runId = values.get("run") ?? "";
  if (runId === "") return undefined;
  const eventId = Number(values.get("event") ?? Number.NaN);
  return { runId, eventId: Number.isSafeInteger(eventId) && eventId > 0 ? eventId : undefined };
}

/** Adds a position to the route of a session. */
export function addPosition(route: string, { runId, eventId }: RunPosition): string {
  const event = eventId === undefined ? "" : `&event=${eventId}`;
  return `${route}?run=${encodeURIComponent(runId)}${event}`;
}

/** Returns everything after the prefix, even if it is not a secret: it must not stay in the URL. */
export function readShareSecret(hash: string): string | undefined {
  return hash.startsWith(SECRET) ? hash.slice(SECRET.length, MAX_LENGTH) : undefined;
}

const SECRET = "#share=";

function readName(hash: string, pattern: RegExp): string | undefined {
  const [, name = ""] = pattern.exec(hash.slice(0, MAX_LENGTH)) ?? [];
  try {
    return name === "" ? undefined : decodeURIComponent(name);
  } catch {
    return undefined;
  }
}
