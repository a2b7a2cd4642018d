/**
 * The frames of a run, recorded or as sent, and how far they are read. Frames beyond the limits are counted but not kept.
 *
 * Invariant: frames are in order of arrival and never change.
 */
import type { ReadableStore } from "loom-agent/client";

/** `whole`: all frames were read; `failed`: the rest could not be read. */
export type ReadingStatus = "reading" | "whole" | "failed";

export interface FramesState {
  /** Number of frames. */
  readonly count: number;
  /** Frames received but not kept. */
  readonly omitted: number;
  readonly status: ReadingStatus;
  /** Why reading failed. */
  readonly error: string | undefined;
}

export interface FrameLimits {
  readonly maxFrames: number;
  readonly maxCharacters: number;
}

const FRAME_LIMITS: FrameLimits = { maxFrames: 200_000, maxCharacters: 64 * 1024 * 1024 };

/** Listeners are notified this long after a change. */
const NOTIFY_MS = 60;

/** `More`: what else the state has, read at each notification. */
export class FrameStore<Frame, More extends object = object> implements ReadableStore<FramesState & More> {
  readonly #readMore: () => More;
  readonly #limits: FrameLimits;
  readonly #frames: Frame[] = [];
  readonly #listeners = new Set<{ readonly listener: () => void }>();
  #reading: Pick<FramesState, "status" | "error"> = { status: "reading", error: undefined };
  #characters = 0;
  #omitted = 0;
  #isFull = false;
  #view: FramesState & More;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(readMore: () => More, limits: Partial<FrameLimits> = {}) {
    this.#readMore = readMore;
    this.#limits = { ...FRAME_LIMITS, ...limits };
    this.#view = this.#read();
  }

  get count(): number {
    return this.#frames.length;
  }

  /** A limit was exceeded. */
  get isFull(): boolean {
    return this.#isFull;
  }

  frameAt(index: number): Frame | undefined {
    return this.#frames[index];
  }

  /** `read` is not called for a frame that is not kept. */
  add(text: string, read: () => Frame): void {
    const { maxFrames, maxCharacters } = this.#limits;
    // Later frames are not kept either: a recording with a gap would replay wrong states.
    this.#isFull ||= this.count >= maxFrames || this.#characters + text.length > maxCharacters;
    if (this.#isFull) this.#omitted++;
    else {
      this.#characters += text.length;
      this.#frames.push(read());
    }
    this.#timer ??= setTimeout(() => this.#notify(), NOTIFY_MS);
  }

  setStatus(status: ReadingStatus, error?: string): void {
    this.#reading = { status, error };
    this.#notify();
  }

  subscribe(listener: () => void): () => void {
    const entry = { listener };
    this.#listeners.add(entry);
    return () => void this.#listeners.delete(entry);
  }

  /** State of the last notification. */
  getSnapshot(): FramesState & More {
    return this.#view;
  }

  #read(): FramesState & More {
    return { count: this.count, omitted: this.#omitted, ...this.#reading, ...this.#readMore() };
  }

  #notify(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#view = this.#read();
    for (const { listener } of this.#listeners) listener();
  }
}
