/** How long to wait before the next try: longer each time, up to a ceiling, and never the same for everybody. */
export interface ReconnectOptions {
  /** The first pause is at most this long, in milliseconds. */
  readonly initialMs: number;
  /** Each further one may be so many times as long. */
  readonly factor: number;
  /** No pause is longer, whatever a server asks for. */
  readonly maxMs: number;
  /** Tries in a row that bring nothing, after the one that was lost. Code `reconnect_limit`. */
  readonly maxAttempts: number;
}

export const RECONNECT: ReconnectOptions = { initialMs: 250, factor: 2, maxMs: 15_000, maxAttempts: 20 };

/**
 * The pause before try `attempt`, counted from 1. With `random` from 0 to 1 any length up to the ceiling is as likely
 * (full jitter), so that the many who were cut off at once do not come back at once.
 */
export function computePause(
  attempt: number,
  { initialMs, factor, maxMs }: ReconnectOptions,
  random: number,
  askedForMs = 0,
): number {
  const ceiling = Math.min(maxMs, initialMs * factor ** Math.min(attempt - 1, MAX_DOUBLINGS));
  return Math.max(random * ceiling, Math.min(askedForMs, maxMs));
}

/** So that the pause stays a number. */
const MAX_DOUBLINGS = 60;
