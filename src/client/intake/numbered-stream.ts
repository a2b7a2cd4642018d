/**
 * The numbered frames of one stream. A sender may number each run of a session from 1: then the stream has several
 * numberings, and a frame belongs to the one that its source has reached.
 */
import { BoundedMap } from "../../protocol/bounded-map.ts";
import type { FrameSource, IncomingFrame } from "./incoming-frame.ts";
import type { Sequence } from "./sequence.ts";

export interface NumberedStream {
  readonly sequence: Sequence<IncomingFrame>;
  /** The last frame was received, so a stream with the same key may start. */
  ended: boolean;
  /** Earlier streams with the same key, or earlier numberings; the latest first. */
  readonly older: readonly Sequence<IncomingFrame>[];
}

const MAX_OLDER = 16;
const MAX_RUNS = 10_000;

/** Returns a stream that continues an earlier one with other numbers. */
export function renumberStream(before: NumberedStream, sequence: Sequence<IncomingFrame>): NumberedStream {
  return { sequence, ended: false, older: [before.sequence, ...before.older].slice(0, MAX_OLDER) };
}

/** Finds the numbering of each frame: that of the run it names, otherwise the one that its source has reached. */
export class Numberings {
  readonly #byRun = new BoundedMap<Sequence<IncomingFrame>>(MAX_RUNS);
  #lastRunId: string | undefined;
  /** By the owner of the source. */
  readonly #bySource = new WeakMap<object, Sequence<IncomingFrame>>();

  /** Returns the sequence of the frame, `new` if it starts a numbering, or `duplicate` if it was taken before. */
  find(
    stream: NumberedStream,
    incoming: IncomingFrame,
    { owner }: FrameSource,
  ): Sequence<IncomingFrame> | "new" | "duplicate" {
    const { sequence, older } = stream;
    if (incoming.contiguous !== undefined) return this.#findStart(stream, incoming, owner);
    const { runId } = incoming;
    if (older.length === 0) {
      if (runId !== undefined && runId !== this.#lastRunId) this.#byRun.getOrCreate(runId, () => sequence);
      this.#lastRunId = runId;
      return sequence;
    }
    const reached = (runId === undefined ? undefined : this.#byRun.get(runId)) ?? this.#bySource.get(owner);
    if (reached !== undefined) return reached;
    return older.some((one) => one.hasTaken(incoming)) ? "duplicate" : sequence;
  }

  /** Called with a frame that starts a numbering. Sources that sent frames before have not reached it. */
  begin(
    { sequence, older: [before] }: NumberedStream,
    { runId }: IncomingFrame,
    { owner }: FrameSource,
    sources: Iterable<FrameSource>,
  ): void {
    if (before !== undefined)
      for (const other of sources) if (!this.#bySource.has(other.owner)) this.#bySource.set(other.owner, before);
    this.#bySource.set(owner, sequence);
    if (runId !== undefined) this.#byRun.set(runId, sequence);
  }

  #findStart({ sequence, older }: NumberedStream, incoming: IncomingFrame, owner: object) {
    const taken = [sequence, ...older].find((one) => one.hasTaken(incoming));
    if (taken !== undefined) {
      if (older.length > 0) this.#bySource.set(owner, taken);
      return "duplicate";
    }
    const { number, contiguous, runId } = incoming;
    const own = this.#bySource.get(owner) ?? sequence;
    const isKnown = runId !== undefined && this.#byRun.has(runId);
    if (contiguous === false && !isKnown && own.isBehind(number)) return "new";
    if (runId !== undefined && !isKnown) this.#byRun.set(runId, own);
    return own;
  }
}
