/** Which session the address names: `#/s/ID`. Anything else is a new one. */
const MAX_LENGTH = 1000;

export function readRoute(hash: string): string | undefined {
  const [, name = ""] = /^#\/s\/([^/?]+)$/.exec(hash.slice(0, MAX_LENGTH)) ?? [];
  try {
    return name === "" ? undefined : decodeURIComponent(name);
  } catch {
    return undefined;
  }
}

export function formatRoute(session: string | undefined): string {
  return session === undefined ? "#/" : `#/s/${encodeURIComponent(session)}`;
}
