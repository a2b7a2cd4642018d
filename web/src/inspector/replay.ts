/**
 * Replays a run up to any frame in its own receiver. Going forward feeds the missing records; going back starts over,
 * which is fast because the records are already decoded.
 */
import { useDeferredValue, useLayoutEffect, useMemo, useState } from "react";
import { createLoomReceiver, type Receiver, type Source } from "loom-agent/client";
import type { RunRecording } from "./run-recording.ts";

export class Replay {
  readonly #recording: RunRecording;
  #receiver: Receiver;
  #source: Source;
  #position = 0;

  constructor(recording: RunRecording) {
    this.#recording = recording;
    [this.#receiver, this.#source] = open(recording);
  }

  /** Number of frames replayed. */
  get position(): number {
    return this.#position;
  }

  /**
   * Returns the receiver at this position: the same one when going forward, a new one when going back. Notifies its
   * listeners.
   */
  goTo(position: number): Receiver {
    const target = Math.max(0, Math.min(position, this.#recording.count));
    if (target < this.#position) {
      [this.#receiver, this.#source] = open(this.#recording);
      this.#position = 0;
    }
    this.#recording.replay(this.#source, this.#position, target);
    this.#position = target;
    this.#receiver.flush();
    return this.#receiver;
  }
}

/** Does not notify per record, because many are fed at once. */
function open({ session }: RunRecording): [Receiver, Source] {
  const receiver = createLoomReceiver({ notify: "frame" });
  return [receiver, receiver.open({ dialect: "loom", session })];
}

/** Replays a run to a position. Deferred, so that dragging the slider stays fast. `position` undefined: nothing is replayed. */
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
