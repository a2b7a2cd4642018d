/** Replays a run to a position. */
import { useDeferredValue, useLayoutEffect, useMemo, useState } from "react";
import type { Receiver } from "loom-agent/client";
import { Replay } from "./replay.ts";
import type { RunRecording } from "./run-recording.ts";

/** Deferred, so that dragging the slider stays fast. `position` undefined: nothing is replayed. */
export function useReplay(recording: RunRecording, position: number | undefined): Receiver | undefined {
  const replay = useMemo(() => new Replay(recording), [recording]);
  const wanted = useDeferredValue(position);
  const [receiver, setReceiver] = useState<Receiver>();
  // Replaying notifies the components that show the receiver, which is not allowed while rendering.
  useLayoutEffect(() => {
    if (wanted !== undefined) setReceiver(replay.goTo(wanted));
  }, [replay, wanted]);
  return receiver;
}
