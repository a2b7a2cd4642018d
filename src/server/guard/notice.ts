/** Notices of rejected requests for the operator, limited so that rejected requests cannot fill a log. */

/** A rejected request, reported to the operator but not to the client, with the option that would allow it. */
export interface Notice {
  /** `client_refused`: authentication is off, and the request may come from another machine. */
  readonly kind: "host_refused" | "origin_refused" | "client_refused";
  /** The rejected host or origin, truncated; for a client the reason. */
  readonly name: string;
  /** The server option that can allow it. */
  readonly option: "hosts" | "origins" | "auth";
  /** Value to add to the option; undefined if no value can allow it. */
  readonly allow?: string | undefined;
}

/** Receives notices of rejected requests. */
export type Notify = (notice: Notice) => void;

/** Shows a notice as a process warning: the default of a handler. */
export function warnOfNotice({ kind, name, option, allow }: Notice): void {
  if (kind === "client_refused") {
    process.emitWarning(`Rejected a request: ${name}`, { type: "loom" });
    return;
  }
  const header = kind === "host_refused" ? "host" : "origin";
  const hint = allow === undefined ? "" : `; to allow it, add ${JSON.stringify(allow)} to the option \`${option}\``;
  process.emitWarning(`Rejected a request: ${header} ${JSON.stringify(name)} is not allowed${hint}`, { type: "loom" });
}

/** Time between two notices for one name. */
const EVERY_MS = 60_000;
/** Names to remember. While that many are remembered, new names are not reported. */
const MAX_NAMES = 100;

/** Passes on at most one notice per name and interval. */
export function limitNotices(notify: Notify): Notify {
  const notified = new Map<string, number>();
  return (notice) => {
    const now = Date.now();
    // Oldest first, by insertion order.
    for (const [key, at] of notified) {
      if (now - at < EVERY_MS) break;
      notified.delete(key);
    }
    const key = `${notice.kind} ${notice.name}`;
    if (notified.has(key) || notified.size >= MAX_NAMES) return;
    notified.set(key, now);
    notify(notice);
  };
}
