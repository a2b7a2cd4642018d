/**
 * Derives the stream state from the known facts. All status decisions are made in this one function.
 *
 * - `failed`: no source is active and one failed, unless another one delivered everything
 * - `repairing`: a source is reconnecting or requesting missing frames
 * - `gap`: frames are missing, temporarily or for good
 * - `truncated`: the sources ended, and a run has not ended or none was received
 * - `live`: more may arrive
 * - `complete`: every received run has ended and nothing is known to be missing
 */
import type { UndetectableFault, StreamReason, StreamState, StreamStatus } from "../view.ts";

/** Phase of one frame source. */
export type FeedPhase =
  | { readonly kind: "open" }
  | { readonly kind: "repairing"; readonly reason: StreamReason }
  | { readonly kind: "ended" }
  | { readonly kind: "failed"; readonly reason: StreamReason };

export interface StreamFacts {
  readonly phases: readonly FeedPhase[];
  readonly isMissing: boolean;
  readonly lost: StreamReason | undefined;
  /** Why the proof of a run does not match its frames. */
  readonly proofFault?: string | undefined;
  readonly liveRuns: number;
  readonly runCount: number;
  readonly isVerified: boolean;
  /** Runs arrive that may have ended before the stream was opened. */
  readonly isCatchingUp: boolean;
  readonly undetectable: "none" | "loss" | "all";
}

export const NO_FACTS: StreamFacts = {
  phases: [],
  isMissing: false,
  lost: undefined,
  liveRuns: 0,
  runCount: 0,
  isVerified: false,
  isCatchingUp: false,
  undetectable: "none",
};

const NO_FAULTS: readonly UndetectableFault[] = [];
const ONLY_LOSS: readonly UndetectableFault[] = ["loss"];
const ALL_FAULTS: readonly UndetectableFault[] = ["loss", "duplicate", "order"];

export const INITIAL_STATE: StreamState = { status: "live", verified: false, undetectable: NO_FAULTS };

/** Returns `before` itself when nothing changed. */
export function deriveState(before: StreamState, facts: StreamFacts): StreamState {
  const { status, reason } = decideStatus(facts);
  const undetectable =
    facts.undetectable === "none" ? NO_FAULTS : facts.undetectable === "loss" ? ONLY_LOSS : ALL_FAULTS;
  const isWhole = status === "live" || status === "complete";
  const verified = isWhole && facts.isVerified && facts.runCount > 0 && undetectable === NO_FAULTS;
  if (
    before.status === status &&
    (before.isCatchingUp ?? false) === facts.isCatchingUp &&
    before.verified === verified &&
    before.undetectable === undetectable &&
    before.reason?.code === reason?.code &&
    before.reason?.message === reason?.message
  )
    return before;
  return {
    status,
    ...(reason === undefined ? {} : { reason }),
    ...(facts.isCatchingUp ? { isCatchingUp: true } : {}),
    verified,
    undetectable,
  };
}

interface StatusAndReason {
  readonly status: StreamStatus;
  readonly reason?: StreamReason;
}

function decideStatus(facts: StreamFacts): StatusAndReason {
  const { phases, isMissing, proofFault, liveRuns, runCount } = facts;
  const lost =
    facts.lost ?? (proofFault === undefined ? undefined : ({ code: "proof_failed", message: proofFault } as const));
  const isOpen = phases.some(({ kind }) => kind === "open");
  const repairing = phases.find((phase) => phase.kind === "repairing");
  const failed = phases.find((phase) => phase.kind === "failed");
  if (repairing !== undefined && (!isOpen || isMissing)) return { status: "repairing", reason: repairing.reason };
  const isAllThere =
    lost === undefined && liveRuns === 0 && runCount > 0 && phases.some(({ kind }) => kind === "ended");
  if (!isOpen && failed !== undefined && !isAllThere) return { status: "failed", reason: failed.reason };
  if (lost !== undefined && (isOpen || liveRuns === 0)) return { status: "gap", reason: lost };
  if (isMissing)
    return { status: "gap", reason: { code: "frames_missing", message: "Some frames have not arrived yet" } };
  const isUnfinished = liveRuns > 0 || runCount === 0;
  if (isOpen || phases.length === 0) return { status: isUnfinished ? "live" : "complete" };
  if (!isUnfinished) return { status: "complete" };
  const message = runCount === 0 ? "The stream ended before any run" : "The stream ended during a run";
  return { status: "truncated", reason: { code: "stream_cut", message } };
}
