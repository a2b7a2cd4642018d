/**
 * Tracks where to resume a session's stream: after the last cursor, after the last record number in `loom`, or a number
 * of frames after either. It counts frames and does not read them.
 */
import type { StreamPosition } from "../transport.ts";

export class PositionTracker {
  /** True when every frame is one numbered record, so that its number is the position. */
  readonly #isByNumber: boolean;
  #after: string | number | undefined;
  #skip = 0;
  /** Cursor of the stream's start. */
  #origin: string | undefined;
  #frozen: StreamPosition | undefined;
  /** Number of the last frame. */
  #last = 0;
  /** The last record that was stored when the stream opened, and the number of runs received by then. */
  #history: { readonly lastId: number; readonly runCount: number } | undefined;
  /** Number of frames passed. */
  count = 0;

  constructor(isByNumber: boolean) {
    this.#isByNumber = isByNumber;
  }

  get position(): StreamPosition {
    if (this.#frozen !== undefined) return this.#frozen;
    const after = this.#after ?? this.#origin;
    return {
      ...(after === undefined ? {} : { after: String(after) }),
      ...(this.#skip === 0 ? {} : { skip: this.#skip }),
      // A number is ambiguous if the session was recreated, so add a cursor that identifies it. A cursor needs no
      // addition.
      ...(typeof after === "number" && this.#origin !== undefined ? { of: this.#origin } : {}),
    };
  }

  /** Moves past one frame, with its cursor or number if it has one. */
  advance(cursor: string | undefined, number?: number): void {
    this.#last = number ?? this.#last;
    const after = cursor ?? (this.#isByNumber ? number : undefined);
    if (after === undefined) {
      // Unnumbered text among numbered frames is not a frame.
      if (typeof this.#after === "number") return;
      this.#skip++;
    } else {
      this.#after = after;
      this.#skip = 0;
    }
    this.count++;
  }

  /** Records up to this one happened before the stream was opened. Undefined: the session has caught up. */
  expectHistory(lastId: number | undefined, runCount: number): void {
    this.#history = lastId === undefined || !this.#isByNumber ? undefined : { lastId, runCount };
  }

  /** True while runs arrive from before. A run that was live before an interruption still is, as far as it is known. */
  isCatchingUp(runCount: number): boolean {
    const history = this.#history;
    return history !== undefined && runCount > history.runCount && this.#last < history.lastId;
  }

  /** Moves to the position after this record. */
  goTo(eventId: number): void {
    this.#after = eventId;
    this.#skip = 0;
  }

  /**
   * Sets the cursor of the stream's start, for wire formats whose frames have no cursor. Frame counts are relative to
   * it.
   */
  begin(cursor: string): void {
    // A resumed stream does not begin at the start that the count is relative to.
    if (this.#after === undefined && this.count > 0 && this.#origin !== undefined) return;
    this.#origin = cursor;
  }

  /** While frames are missing, keeps the position before the gap, so that a retry requests them. */
  freeze(isMissing: boolean): void {
    // A position given by a number has no gap before it.
    this.#frozen = isMissing && !this.#isByNumber ? this.position : undefined;
  }
}
