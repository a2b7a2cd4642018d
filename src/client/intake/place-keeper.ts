/**
 * Where a session's stream goes on: after the last cursor, or after the last record in `loom`, or so many frames after
 * either. It counts frames and reads none.
 */
import type { Place } from "../transport.ts";

export class PlaceKeeper {
  /** Records are numbered, and each is one frame: a number says the place. */
  readonly #isByNumber: boolean;
  #after: string | number | undefined;
  #skip = 0;
  /** Where the stream began. */
  #of: string | undefined;
  #frozen: Place | undefined;
  /** Frames that were passed. */
  count = 0;

  constructor(isByNumber: boolean) {
    this.#isByNumber = isByNumber;
  }

  get place(): Place {
    if (this.#frozen !== undefined) return this.#frozen;
    const after = this.#after ?? this.#of;
    return {
      ...(after === undefined ? {} : { after: String(after) }),
      ...(this.#skip === 0 ? {} : { skip: this.#skip }),
      // A number means nothing in a session that was made anew; a cursor says itself which session it is of.
      ...(typeof after === "number" && this.#of !== undefined ? { of: this.#of } : {}),
    };
  }

  /** One frame was passed, with its cursor or number where it has one. */
  advance(cursor: string | undefined, number?: number): void {
    const after = cursor ?? (this.#isByNumber ? number : undefined);
    if (after === undefined) {
      // What has no number among frames that have one is no frame of theirs.
      if (typeof this.#after === "number") return;
      this.#skip++;
    } else {
      this.#after = after;
      this.#skip = 0;
    }
    this.count++;
  }

  /** Goes on after this record. */
  goTo(eventId: number): void {
    this.#after = eventId;
    this.#skip = 0;
  }

  /** A cursor of where the stream began, for wires whose frames have none: a count is good from there only. */
  begin(cursor: string): void {
    // Once there is a place, what begins there begins in the middle.
    if (this.#after === undefined && this.count > 0 && this.#of !== undefined) return;
    this.#of = cursor;
  }

  /** While something is missing, whoever asks again must ask from before it. */
  freeze(isMissing: boolean): void {
    // Where a number says the place there is one stream, and what was taken of it has no gap.
    this.#frozen = isMissing && !this.#isByNumber ? this.place : undefined;
  }
}
