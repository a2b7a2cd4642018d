/**
 * Collects the frames of a run in another dialect, without decoding them. Frames beyond the limits are counted but not
 * kept.
 */
import type { ReadableStore } from "loom-agent/client";
import type { DialectName } from "loom-agent/dialects";
import { isJsonObject } from "../../../src/protocol/json.ts";
import type { ListedFrame } from "./filter-frames.ts";
import type { WireFrame } from "./inspector-api.ts";
import type { FrameCollector, ReadingStatus } from "./record-run.ts";
import { RECORDING_LIMITS } from "./run-recording.ts";

export interface WireFramesState {
  readonly count: number;
  readonly omitted: number;
  readonly status: ReadingStatus;
  readonly error: string | undefined;
}

/** Listeners are notified this long after a change. */
const NOTIFY_MS = 60;

export class WireFrames implements ReadableStore<WireFramesState>, FrameCollector {
  readonly session: string;
  readonly runId: string;
  readonly dialect: DialectName;
  cursor: string | undefined;
  readonly #frames: ListedFrame[] = [];
  readonly #listeners = new Set<() => void>();
  #characters = 0;
  #isFull = false;
  #next: WireFramesState = { count: 0, omitted: 0, status: "reading", error: undefined };
  #view: WireFramesState = this.#next;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(session: string, runId: string, dialect: DialectName) {
    this.session = session;
    this.runId = runId;
    this.dialect = dialect;
  }

  get count(): number {
    return this.#frames.length;
  }

  frameAt(index: number): ListedFrame | undefined {
    return this.#frames[index];
  }

  add({ text, cursor }: WireFrame): void {
    this.cursor = cursor ?? this.cursor;
    const { maxFrames, maxCharacters } = RECORDING_LIMITS;
    this.#isFull ||= this.count >= maxFrames || this.#characters + text.length > maxCharacters;
    if (this.#isFull) {
      this.#set({ omitted: this.#next.omitted + 1 });
      return;
    }
    this.#characters += text.length;
    this.#frames.push({ text, type: findType(text) });
    this.#set({ count: this.count });
  }

  setStatus(status: ReadingStatus, error?: string): void {
    this.#set({ status, error });
    this.#notify();
  }

  subscribe(listener: () => void): () => void {
    const own = (): void => listener();
    this.#listeners.add(own);
    return () => {
      this.#listeners.delete(own);
    };
  }

  getSnapshot(): WireFramesState {
    return this.#view;
  }

  #set(changed: Partial<WireFramesState>): void {
    this.#next = { ...this.#next, ...changed };
    this.#timer ??= setTimeout(() => this.#notify(), NOTIFY_MS);
  }

  #notify(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#view = this.#next;
    for (const listener of this.#listeners) listener();
  }
}

/** Returns the type of a frame: its `type` field, else the name of its first field. */
export function findType(text: string): string {
  try {
    const frame: unknown = JSON.parse(text);
    if (!isJsonObject(frame)) return "";
    const { type } = frame;
    return typeof type === "string" ? type : (Object.keys(frame)[0] ?? "");
  } catch {
    return "";
  }
}
