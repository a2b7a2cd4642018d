/**
 * What the address names: a session by `#/s/ID`, one that is shown by a link by `#/shared/ID`, or the secret of a link
 * that was just opened, `#share=SECRET`. Anything else is a new session.
 */
const MAX_LENGTH = 1000;

export function readRoute(hash: string): string | undefined {
  return readName(hash, /^#\/s\/([^/?]+)$/);
}

export function formatRoute(session: string | undefined): string {
  return session === undefined ? "#/" : `#/s/${encodeURIComponent(session)}`;
}

export function readSharedRoute(hash: string): string | undefined {
  return readName(hash, /^#\/shared\/([^/?]+)$/);
}

export function formatSharedRoute(session: string): string {
  return `#/shared/${encodeURIComponent(session)}`;
}

/** Whatever stands there: also what is none must not stay in the address. */
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
