/**
 * Derives what the receiver says of a stream from what it knows. One function, so that nobody claims `complete` on his
 * own account.
 *
 *   failed      nobody brings frames any more, and one of those who did was refused or gave up, unless another brought all
 *   repairing   somebody is at work: reconnecting, or asking for what is missing
 *   gap         frames are missing, for now or for good
 *   truncated   nothing more will come, and a run is not over, or none was ever heard of
 *   live        more may come
 *   complete    every run that was heard of is over, and nothing is known to be missing
 */
import type { Blindness, StreamReason, StreamState, StreamStatus } from "../view.ts";

/** How it stands with one of those who bring frames. */
export type Phase =
  | { readonly kind: "open" }
  | { readonly kind: "repairing"; readonly reason: StreamReason }
  | { readonly kind: "ended" }
  | { readonly kind: "failed"; readonly reason: StreamReason };

export interface Facts {
  readonly phases: readonly Phase[];
  readonly isMissing: boolean;
  readonly lost: StreamReason | undefined;
  readonly liveRuns: number;
  readonly runCount: number;
  readonly isVerified: boolean;
  readonly blindness: "no" | "loss" | "all";
}

export const NO_FACTS: Facts = {
  phases: [],
  isMissing: false,
  lost: undefined,
  liveRuns: 0,
  runCount: 0,
  isVerified: false,
  blindness: "no",
};

const NOTHING: readonly Blindness[] = [];
const LOSSES: readonly Blindness[] = ["loss"];
const EVERYTHING: readonly Blindness[] = ["loss", "double", "order"];

export const INITIAL_STATE: StreamState = { status: "live", verified: false, cannotKnow: NOTHING };

/** The same object as `before` when nothing changed. */
export function deriveState(before: StreamState, facts: Facts): StreamState {
  const { status, reason } = judge(facts);
  const cannotKnow = facts.blindness === "no" ? NOTHING : facts.blindness === "loss" ? LOSSES : EVERYTHING;
  const isWhole = status === "live" || status === "complete";
  const verified = isWhole && facts.isVerified && facts.runCount > 0 && cannotKnow === NOTHING;
  if (
    before.status === status &&
    before.verified === verified &&
    before.cannotKnow === cannotKnow &&
    before.reason?.code === reason?.code &&
    before.reason?.message === reason?.message
  )
    return before;
  return { status, ...(reason === undefined ? {} : { reason }), verified, cannotKnow };
}

interface Judgement {
  readonly status: StreamStatus;
  readonly reason?: StreamReason;
}

function judge({ phases, isMissing, lost, liveRuns, runCount }: Facts): Judgement {
  const isOpen = phases.some(({ kind }) => kind === "open");
  const repairing = phases.find((phase) => phase.kind === "repairing");
  const failed = phases.find((phase) => phase.kind === "failed");
  if (repairing !== undefined && (!isOpen || isMissing)) return { status: "repairing", reason: repairing.reason };
  const isAllThere =
    lost === undefined && liveRuns === 0 && runCount > 0 && phases.some(({ kind }) => kind === "ended");
  if (!isOpen && failed !== undefined && !isAllThere) return { status: "failed", reason: failed.reason };
  if (lost !== undefined && (isOpen || liveRuns === 0)) return { status: "gap", reason: lost };
  if (isMissing) return { status: "gap", reason: { code: "frames_missing", message: "some frames have not come yet" } };
  const isUnfinished = liveRuns > 0 || runCount === 0;
  if (isOpen || phases.length === 0) return { status: isUnfinished ? "live" : "complete" };
  if (!isUnfinished) return { status: "complete" };
  const message = runCount === 0 ? "the stream ended before any run" : "the stream ended while a run was going";
  return { status: "truncated", reason: { code: "stream_cut", message } };
}
