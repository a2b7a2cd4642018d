/**
 * The limits of a receiver and their defaults. Input beyond a limit gets an error code or is counted in the view, and
 * does not affect other sessions.
 */

/** Maximum sizes; see `ReceiverOptions.limits`. */
export interface ReceiverLimits {
  /**
   * Sessions in the view. Beyond this, the oldest session without a live run is removed (`too_many_sessions`).
   * Default: 1000.
   */
  readonly maxSessions: number;
  /** Turns per session. Beyond this, the oldest turn is removed and counted in `earlierTurns`. Default: 10,000. */
  readonly maxTurns: number;
  /** Live runs per session. Beyond this, the oldest live run is marked as failed (`too_many_open`). Default: 1000. */
  readonly maxLiveTurns: number;
  /**
   * Entries per list of a turn: parts, node runs, thoughts, graph nodes, edges, model calls, checkpoints
   * (`view_limit`). Default: 10,000.
   */
  readonly maxItems: number;
  /** Characters per text: an answer, a thought, a tool's output or arguments (`view_limit`). Default: 16,777,216. */
  readonly maxText: number;
  /** Frames held while an earlier one is missing (`held_limit`). Default: 4096. */
  readonly maxHeldFrames: number;
  /** Characters in the held frames (`held_limit`). Default: 8,388,608. */
  readonly maxHeldCharacters: number;
  /** Issues and other events shown; the rest is only counted. Default: 100. */
  readonly maxIssues: number;
}

/** Default limits of a receiver. */
export const RECEIVER_LIMITS: ReceiverLimits = {
  maxSessions: 1000,
  maxTurns: 10_000,
  maxLiveTurns: 1000,
  maxItems: 10_000,
  maxText: 16 * 1024 * 1024,
  maxHeldFrames: 4096,
  maxHeldCharacters: 8 * 1024 * 1024,
  maxIssues: 100,
};
