/** The status of a session, once there is something to report. */
import type { ReactNode } from "react";
import type { Receiver } from "../../client/index.ts";
import { findRunPhase } from "../thoughts/describe-stream.ts";
import { StreamStatus } from "../thoughts/stream-status.tsx";
import { useSession } from "../use-receiver.ts";

export interface SessionStatusProps {
  readonly receiver: Receiver;
  readonly sessionId: string;
  readonly onRetry?: (() => void) | undefined;
}

/** Shows a `StreamStatus`. Renders nothing for a session that its first message will create. */
export function SessionStatus({ receiver, sessionId, onRetry }: SessionStatusProps): ReactNode {
  const state = useSession(receiver, sessionId, (view) => view?.state);
  const run = useSession(receiver, sessionId, findRunPhase);
  const hasRun = useSession(receiver, sessionId, (view) => (view?.turns.length ?? 0) > 0);
  const isYetToCome = !hasRun && (state?.reason?.code === "unknown_session" || state?.status === "live");
  return state === undefined || isYetToCome ? null : <StreamStatus state={state} run={run} onRetry={onRetry} />;
}
