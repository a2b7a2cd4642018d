/** Maps the state of a stream to the phase that the page shows, in one table. */
import type { StreamState } from "../../client/index.ts";
import type { BadgeTone } from "../ui/indicators.tsx";

/**
 * `connecting`: nothing received yet. `reconnecting`: the connection is lost and retried. `repairing`: connected,
 * missing frames are requested. `gap`: frames are missing and are not requested.
 */
export type StreamPhase =
  | "connecting"
  | "live"
  | "reconnecting"
  | "repairing"
  | "gap"
  | "truncated"
  | "complete"
  | "failed";

export interface StreamDescription {
  readonly phase: StreamPhase;
  readonly tone: BadgeTone;
  readonly isBusy: boolean;
  /** A manual retry may help. */
  readonly canRetry: boolean;
}

const DESCRIPTIONS: { readonly [W in StreamPhase]: Omit<StreamDescription, "phase"> } = {
  connecting: { tone: "plain", isBusy: true, canRetry: false },
  live: { tone: "good", isBusy: false, canRetry: false },
  reconnecting: { tone: "warn", isBusy: true, canRetry: true },
  repairing: { tone: "warn", isBusy: true, canRetry: false },
  gap: { tone: "warn", isBusy: false, canRetry: false },
  truncated: { tone: "bad", isBusy: false, canRetry: true },
  complete: { tone: "plain", isBusy: false, canRetry: false },
  failed: { tone: "bad", isBusy: false, canRetry: true },
};

export function describeStream(state: StreamState | undefined): StreamDescription {
  const phase = choosePhase(state);
  return { phase, ...DESCRIPTIONS[phase] };
}

/** The status `repairing` covers lost connections and lost frames; the reason code tells which. */
function choosePhase(state: StreamState | undefined): StreamPhase {
  if (state === undefined) return "connecting";
  if (state.status !== "repairing") return state.status;
  return state.reason?.code === "frames_missing" ? "repairing" : "reconnecting";
}
