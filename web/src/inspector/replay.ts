/**
 * The run as it stood after some of its frames, in a receiver of its own. Forward it is fed what is missing; back it
 * begins anew, since decoded records are replayed at many thousands in the time of one frame of the screen.
 */
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

  /** After so many frames. */
  get position(): number {
    return this.#position;
  }

  /** The receiver that stands there: the same one forward, another one back. Its listeners are told at once. */
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

/** Not told at once of each record: many are fed at a time. */
function open({ session }: RunRecording): [Receiver, Source] {
  const receiver = createLoomReceiver({ notify: "frame" });
  return [receiver, receiver.open({ dialect: "loom", session })];
}
