/**
 * The frames of a run in some other dialect, to be looked at as they are: nothing is made of them. What is over a limit
 * is counted and not kept.
 */
import type { Store } from "loom-agent/client";
import type { DialectName } from "loom-agent/dialects";
import { isJsonObject } from "loom-agent/protocol";
import type { ListedFrame } from "./filter-frames.ts";
import type { ReadFrame } from "./inspector-api.ts";
import type { FrameKeeper, ReadingStatus } from "./record-run.ts";
import { RECORDING_LIMITS } from "./run-recording.ts";

export interface WireView {
  readonly count: number;
  readonly omitted: number;
  readonly status: ReadingStatus;
  readonly error: string | undefined;
}

/** Listeners are told so long after the first change they do not know of. */
const TELL_MS = 60;

export class WireFrames implements Store<WireView>, FrameKeeper {
  readonly session: string;
  readonly runId: string;
  readonly dialect: DialectName;
  cursor: string | undefined;
  readonly #frames: ListedFrame[] = [];
  readonly #listeners = new Set<() => void>();
  #characters = 0;
  #isFull = false;
  #next: WireView = { count: 0, omitted: 0, status: "reading", error: undefined };
  #view: WireView = this.#next;
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

  add({ text, cursor }: ReadFrame): void {
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
    this.#tell();
  }

  subscribe(listener: () => void): () => void {
    const own = (): void => listener();
    this.#listeners.add(own);
    return () => {
      this.#listeners.delete(own);
    };
  }

  getSnapshot(): WireView {
    return this.#view;
  }

  #set(changed: Partial<WireView>): void {
    this.#next = { ...this.#next, ...changed };
    this.#timer ??= setTimeout(() => this.#tell(), TELL_MS);
  }

  #tell(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#view = this.#next;
    for (const listener of this.#listeners) listener();
  }
}

/** What a frame calls itself: its `type`, or, where the type is the name of its only field, that. */
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
