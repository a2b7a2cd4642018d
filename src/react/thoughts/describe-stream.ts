/** Maps the state of a stream and of its latest run to the one status that the page shows. */
import type { SessionView, StreamState, TurnView } from "../../client/index.ts";
import type { BadgeTone } from "../ui/indicators.tsx";
import { findStage } from "./find-stage.ts";

/**
 * `connecting`: nothing received yet. `reconnecting`: the connection is lost and retried. `offline`: likewise, because
 * the device is offline. `repairing`: connected, missing frames are requested. `gap`: frames are missing and are not requested. `full`: the server has no space left, and
 * the connection is retried.
 */
export type StreamPhase =
  | "connecting"
  | "live"
  | "reconnecting"
  | "offline"
  | "repairing"
  | "gap"
  | "full"
  | "truncated"
  | "complete"
  | "failed";

export interface StreamDescription {
  readonly phase: StreamPhase;
  readonly tone: BadgeTone;
  /** Nothing is missing, so there is nothing to report about the stream. */
  readonly isSound: boolean;
  readonly isBusy: boolean;
  /** A manual retry may help. */
  readonly canRetry: boolean;
}

const DESCRIPTIONS: { readonly [W in StreamPhase]: Omit<StreamDescription, "phase"> } = {
  connecting: { tone: "plain", isSound: false, isBusy: true, canRetry: false },
  live: { tone: "plain", isSound: true, isBusy: false, canRetry: false },
  reconnecting: { tone: "warn", isSound: false, isBusy: true, canRetry: true },
  offline: { tone: "warn", isSound: false, isBusy: false, canRetry: true },
  repairing: { tone: "warn", isSound: false, isBusy: true, canRetry: false },
  gap: { tone: "warn", isSound: false, isBusy: false, canRetry: false },
  full: { tone: "warn", isSound: false, isBusy: true, canRetry: true },
  truncated: { tone: "bad", isSound: false, isBusy: false, canRetry: true },
  complete: { tone: "plain", isSound: true, isBusy: false, canRetry: false },
  failed: { tone: "bad", isSound: false, isBusy: false, canRetry: true },
};

export function describeStream(state: StreamState | undefined, isOffline = false): StreamDescription {
  const found = choosePhase(state);
  // A server on this device can be reached offline.
  const phase = found === "reconnecting" && isOffline ? "offline" : found;
  return { phase, ...DESCRIPTIONS[phase] };
}

/** Whether the connection to the server is lost and retried. */
export function isAway(state: StreamState | undefined): boolean {
  return choosePhase(state) === "reconnecting";
}

/** The status `repairing` covers lost connections and lost frames; the reason code tells which. */
function choosePhase(state: StreamState | undefined): StreamPhase {
  if (state === undefined) return "connecting";
  if (state.status !== "repairing") return state.status;
  if (state.reason?.code === "store_full") return "full";
  return state.reason?.code === "frames_missing" ? "repairing" : "reconnecting";
}

/** Returns the live run. A run is not live if its stream failed, was truncated or still delivers the past. */
export function findLiveRun(session: SessionView | undefined): TurnView | undefined {
  const { status, isCatchingUp } = session?.state ?? {};
  if (status === "failed" || status === "truncated" || isCatchingUp === true) return undefined;
  const latest = session?.turns.at(-1);
  return latest?.status === "running" ? latest : undefined;
}

/** State of a session's latest run while the user should know about it. */
export type RunPhase = "running" | "waiting" | "failed";

/**
 * Returns the phase of the latest run; undefined if it completed, was cancelled, or is not known yet.
 *
 * ```ts
 * const phase = useSession(receiver, "demo", findRunPhase);
 * ```
 */
export function findRunPhase(session: SessionView | undefined): RunPhase | undefined {
  if (session?.state.isCatchingUp === true) return undefined;
  const turn = session?.turns.at(-1);
  if (turn?.status === "error") return "failed";
  if (turn?.status !== "running") return undefined;
  return findStage(turn)?.kind === "approval" ? "waiting" : "running";
}
