/** How far the page can vouch for what it shows: live, being repaired, cut, complete. */
import type { ReactNode } from "react";
import type { StreamState } from "../../client/index.ts";

export interface StreamStatusProps {
  readonly state: StreamState | undefined;
  /** Asks again at once, where that may help. */
  onRetry?(): void;
}

export function StreamStatus({ state }: StreamStatusProps): ReactNode {
  return state?.status ?? null;
}
