/** What is said of a stream, from its state. One table, so that no two places tell different stories. */
import type { StreamState } from "../../client/index.ts";
import type { Tone } from "../ui/indicators.tsx";

/**
 * connecting: nothing was heard yet; reconnecting: the connection is lost, and is being made anew; repairing: it stands, and
 * what is missing is asked for; gap: something is missing, and nobody is at work.
 */
export type StreamWord =
  | "connecting"
  | "live"
  | "reconnecting"
  | "repairing"
  | "gap"
  | "truncated"
  | "complete"
  | "failed";

export interface StreamDescription {
  readonly word: StreamWord;
  readonly tone: Tone;
  readonly isBusy: boolean;
  /** Asking again may change something. */
  readonly mayRetry: boolean;
}

const DESCRIPTIONS: { readonly [W in StreamWord]: Omit<StreamDescription, "word"> } = {
  connecting: { tone: "plain", isBusy: true, mayRetry: false },
  live: { tone: "good", isBusy: false, mayRetry: false },
  reconnecting: { tone: "warn", isBusy: true, mayRetry: true },
  repairing: { tone: "warn", isBusy: true, mayRetry: false },
  gap: { tone: "warn", isBusy: false, mayRetry: false },
  truncated: { tone: "bad", isBusy: false, mayRetry: true },
  complete: { tone: "plain", isBusy: false, mayRetry: false },
  failed: { tone: "bad", isBusy: false, mayRetry: true },
};

export function describeStream(state: StreamState | undefined): StreamDescription {
  const word = chooseWord(state);
  return { word, ...DESCRIPTIONS[word] };
}

/** Both a lost connection and lost frames are repaired; the reason tells which it is. */
function chooseWord(state: StreamState | undefined): StreamWord {
  if (state === undefined) return "connecting";
  if (state.status !== "repairing") return state.status;
  return state.reason?.code === "frames_missing" ? "repairing" : "reconnecting";
}
