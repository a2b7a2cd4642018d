/**
 * URL fragments: `#/s/ID` is a session, `#/shared/ID` a session opened by a share link, `#share=SECRET` a share link.
 * Anything else is a new session.
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
