/** The run as it stood after some of its frames, in a component. */
import { useDeferredValue, useLayoutEffect, useMemo, useState } from "react";
import type { Receiver } from "loom-agent/client";
import { Replay } from "./replay.ts";
import type { RunRecording } from "./run-recording.ts";

/**
 * Comes a moment after what asks for it: whoever drags a slider is not held up by what is drawn. Nothing is played while
 * nobody looks.
 */
export function useReplay(recording: RunRecording, position: number | undefined): Receiver | undefined {
  const replay = useMemo(() => new Replay(recording), [recording]);
  const wanted = useDeferredValue(position);
  const [receiver, setReceiver] = useState<Receiver>();
  // Not while rendering: whoever shows the receiver is told of what it is fed.
  useLayoutEffect(() => {
    if (wanted !== undefined) setReceiver(replay.goTo(wanted));
  }, [replay, wanted]);
  return receiver;
}
