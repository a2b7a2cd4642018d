/**
 * The frames of one run, as they came, with what each of them made: recorded beside the page's own view, which knows
 * nothing of it. Each frame is decoded once and shown to a receiver of its own, whose view before and after tells what
 * changed; the records are kept, so that the run can be played again to any of them without decoding anything twice.
 *
 * Invariant: frames lie in the order they came, and nothing of one changes once it is there. What is over a limit is
 * counted and not kept.
 */
import {
  createLoomReceiver,
  type Receiver,
  type Source,
  type Store,
  type TodoList,
  type TurnView,
} from "loom-agent/client";
import { type Decoder, LOOM_DECODING } from "loom-agent/dialects";
import type { EventOf, EventRecord } from "loom-agent/protocol";
import type { ElementPlace } from "loom-agent/react";
import type { ReadFrame } from "./inspector-api.ts";
import type { FrameKeeper, ReadingStatus } from "./record-run.ts";
import { RunIndex } from "./run-index.ts";

export interface RecordedFrame {
  readonly text: string;
  /** Absent where it could not be read. */
  readonly record: EventRecord | undefined;
  /** Empty where it could not be read. */
  readonly type: string;
  /** The element it made or changed. */
  readonly place: ElementPlace | undefined;
}

/** What a model call used, at the frame that told it. */
export interface UsageStep {
  readonly frame: number;
  readonly callId: string | undefined;
  readonly prompt: number;
  readonly completion: number;
  readonly total: number;
  /** All of the run up to here. */
  readonly sum: number;
}

export interface RecordingView {
  /** How many frames there are. */
  readonly count: number;
  /** Frames that came and were not kept. */
  readonly omitted: number;
  readonly status: ReadingStatus;
  /** Why it failed. */
  readonly error: string | undefined;
  /** The run after the last frame. */
  readonly turn: TurnView | undefined;
  readonly usageCount: number;
}

export interface RecordingOptions {
  readonly session: string;
  readonly runId: string;
  /** The run in the view of the page. */
  readonly turnKey: string;
  /** Lists of runs before it: a list that is known already makes no part, and the keys of parts must agree. */
  readonly earlierLists?: readonly TodoList[];
  readonly limits?: Partial<RecordingLimits>;
}

export interface RecordingLimits {
  readonly maxFrames: number;
  readonly maxCharacters: number;
}

export const RECORDING_LIMITS: RecordingLimits = { maxFrames: 200_000, maxCharacters: 64 * 1024 * 1024 };

/** Listeners are told so long after the first change they do not know of. */
const TELL_MS = 60;

export class RunRecording implements Store<RecordingView>, FrameKeeper {
  readonly runId: string;
  readonly session: string;
  readonly dialect = "loom";
  readonly index: RunIndex;
  readonly usage: UsageStep[] = [];
  readonly #limits: RecordingLimits;
  readonly #earlierLists: readonly TodoList[];
  readonly #frames: RecordedFrame[] = [];
  readonly #decoder: Decoder = LOOM_DECODING.createDecoder();
  readonly #receiver: Receiver = createLoomReceiver({ notify: "sync" });
  readonly #source: Source;
  readonly #listeners = new Set<() => void>();
  #characters = 0;
  #isFull = false;
  #lastId: number | undefined;
  #cursor: string | undefined;
  #view: RecordingView;
  #pending: Partial<RecordingView> | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor({ session, runId, turnKey, earlierLists = [], limits }: RecordingOptions) {
    this.session = session;
    this.runId = runId;
    this.index = new RunIndex(turnKey);
    this.#limits = { ...RECORDING_LIMITS, ...limits };
    this.#earlierLists = earlierLists;
    this.#source = this.#receiver.open({ dialect: "loom", session });
    this.#view = { count: 0, omitted: 0, status: "reading", error: undefined, turn: undefined, usageCount: 0 };
  }

  get count(): number {
    return this.#frames.length;
  }

  /** Where to go on after all that came. */
  get cursor(): string | undefined {
    return this.#cursor;
  }

  get isOver(): boolean | undefined {
    const turn = this.#isFull ? undefined : this.#turn;
    return turn === undefined ? undefined : turn.status !== "running";
  }

  frameAt(index: number): RecordedFrame | undefined {
    return this.#frames[index];
  }

  add({ text, cursor }: ReadFrame): void {
    const record = this.#chain(this.#decoder.decode(text).records[0]);
    const id = record?.envelope.event_id;
    this.#cursor = cursor ?? (id === undefined ? this.#cursor : String(id));
    const { maxFrames, maxCharacters } = this.#limits;
    // Once full it stays so: a recording with a hole would replay what never was.
    this.#isFull ||= this.count >= maxFrames || this.#characters + text.length > maxCharacters;
    if (this.#isFull) {
      this.#set({ omitted: (this.#pending?.omitted ?? this.#view.omitted) + 1 });
      return;
    }
    this.#characters += text.length;
    if (this.count === 0) prime(this.#source, this.#earlierLists, this.session, id);
    const place = record === undefined ? undefined : this.#show(record);
    this.#frames.push({ text, record, type: record?.event.type ?? "", place });
    this.#set({ count: this.count, usageCount: this.usage.length });
  }

  setStatus(status: ReadingStatus, error?: string): void {
    this.#set({ status, error });
    this.flush();
  }

  /** Feeds the first frames to another receiver; `from` are there already. */
  replay(source: Source, from: number, to: number): void {
    if (from === 0 && to > 0) prime(source, this.#earlierLists, this.session, this.#firstId);
    for (let i = from; i < to; i++) {
      const record = this.#frames[i]?.record;
      if (record !== undefined) source.pushRecord(record);
    }
  }

  /** Milliseconds from the first frame to this one; undefined where they tell no times. */
  timeAt(index: number): number | undefined {
    const start = this.#frames[0]?.record?.envelope.ts;
    const ts = this.#frames[index]?.record?.envelope.ts;
    return start === undefined || ts === undefined ? undefined : ts - start;
  }

  /** What was used up to this frame, itself included. */
  findUsage(index: number): UsageStep | undefined {
    let [low, high] = [0, this.usage.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.usage[middle] as UsageStep).frame <= index) low = middle + 1;
      else high = middle;
    }
    return this.usage[low - 1];
  }

  subscribe(listener: () => void): () => void {
    const own = (): void => listener();
    this.#listeners.add(own);
    return () => {
      this.#listeners.delete(own);
    };
  }

  /** As listeners were last told. */
  getSnapshot(): RecordingView {
    return this.#view;
  }

  /** Tells listeners now. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const pending = this.#pending;
    if (pending === undefined) return;
    this.#pending = undefined;
    this.#view = { ...this.#view, ...pending, turn: this.#turn };
    for (const listener of this.#listeners) listener();
  }

  #set(changed: Partial<RecordingView>): void {
    this.#pending = { ...this.#pending, ...changed };
    this.#timer ??= setTimeout(() => this.flush(), TELL_MS);
  }

  get #firstId(): number | undefined {
    return this.#frames[0]?.record?.envelope.event_id;
  }

  get #turn(): TurnView | undefined {
    const turns = this.#receiver.session(this.session).getSnapshot()?.turns ?? [];
    return turns.find(({ runId }) => runId === this.runId);
  }

  /** A frame that was left out on the way must not keep those after it waiting: each follows the one that came before. */
  #chain(record: EventRecord | undefined): EventRecord | undefined {
    const { event_id, prev_event_id } = record?.envelope ?? {};
    if (record === undefined || event_id === undefined) return record;
    const last = this.#lastId;
    this.#lastId = event_id;
    if (last === undefined || event_id <= last || (prev_event_id ?? event_id - 1) === last) return record;
    return { ...record, envelope: { ...record.envelope, prev_event_id: last } };
  }

  #show(record: EventRecord): ElementPlace | undefined {
    const { envelope, event } = record;
    this.#source.pushRecord(record);
    const isOwn = envelope.run_id === undefined || envelope.run_id === this.runId;
    const turn = isOwn ? this.#turn : undefined;
    if (turn === undefined) return undefined;
    if (event.type === "usage" && envelope.run_id !== undefined) this.#use(event as EventOf<"usage">);
    return this.index.note(this.count, turn, envelope.node_id);
  }

  #use({
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: total,
    llm_call_id,
  }: EventOf<"usage">): void {
    const sum = (this.usage.at(-1)?.sum ?? 0) + total;
    this.usage.push({ frame: this.count, callId: llm_call_id, prompt, completion, total, sum });
  }
}

/** Lists that were there before the run, right before its first record. Their items are as they are now. */
function prime(source: Source, lists: readonly TodoList[], session: string, firstId: number | undefined): void {
  if (firstId === undefined || firstId <= lists.length) return;
  for (const [i, { listId, title, items }] of lists.entries()) {
    const event_id = firstId - lists.length + i;
    const event: EventOf<"todo_list"> = {
      type: "todo_list",
      list_id: listId,
      ...(title === undefined ? {} : { title }),
      items: items.map(({ id, text, completed }) => ({ id, text, completed })),
    };
    source.pushRecord({ envelope: { session_id: session, event_id }, event });
  }
}
