/**
 * What a receiver holds at most. Every limit has a default and can be set; what it keeps out is named by an error code or
 * counted in the view, and harms nothing else.
 */
export interface ReceiverLimits {
  /** Sessions in view; beyond, the one heard of longest ago that has no live run goes. Code `too_many_sessions`. */
  readonly maxSessions: number;
  /** Turns in view per session; beyond, the oldest goes and is counted in `earlierTurns`. */
  readonly maxTurns: number;
  /** Runs of one session that are live at once. Code `too_many_open`. */
  readonly maxLiveTurns: number;
  /** Of each list in a turn: parts, node runs, thoughts, graph nodes, edges, model calls, checkpoints. `view_limit`. */
  readonly maxItems: number;
  /** Characters of one text: an answer, a thought, a tool's output, its arguments. `view_limit`. */
  readonly maxText: number;
  /** Frames, and characters of frames, that wait for one before them. Code `held_limit`. */
  readonly maxHeldFrames: number;
  readonly maxHeldCharacters: number;
  /** Issues and other events that are shown; the rest is only counted. */
  readonly maxIssues: number;
}

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
