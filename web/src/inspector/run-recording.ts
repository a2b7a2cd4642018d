/**
 * The recorded frames of one run. Each frame is decoded once and fed to a private receiver, whose view before and after
 * shows what changed. The records are kept, so the run can be replayed to any frame without decoding it again. The
 * page's own view is not involved.
 */
import { createLoomReceiver, type Receiver, type Source, type TodoList, type TurnView } from "loom-agent/client";
import type { Decoder } from "loom-agent/dialects";
import { LOOM_DECODING } from "../../../src/dialects/loom/decode.ts";
import type { EventOf, EventRecord } from "loom-agent/protocol";
import type { ElementTarget } from "../../../src/react/page-parts.ts";
import { type FrameLimits, type FramesState, FrameStore } from "./frame-store.ts";
import type { WireFrame } from "./inspector-api.ts";
import type { FrameCollector } from "./record-run.ts";
import { RunIndex } from "./run-index.ts";

export interface RecordedFrame {
  readonly text: string;
  /** Undefined if the frame is unreadable. */
  readonly record: EventRecord | undefined;
  /** Empty if the frame is unreadable. */
  readonly type: string;
  /** Element that the frame created or changed. */
  readonly target: ElementTarget | undefined;
}

/** Token usage reported by one frame. */
export interface UsageStep {
  readonly frame: number;
  readonly callId: string | undefined;
  readonly prompt: number;
  readonly completion: number;
  /** Part of the prompt that the provider read from its cache. */
  readonly cached: number;
  readonly total: number;
  /** Total of the run up to this frame. */
  readonly sum: number;
}

interface RecordedTurn {
  /** The run after the last frame. */
  readonly turn: TurnView | undefined;
  readonly usageCount: number;
}

export type RecordingState = FramesState & RecordedTurn;

export interface RecordingOptions {
  readonly session: string;
  readonly runId: string;
  /** Key of the turn in the page's view. */
  readonly turnKey: string;
  /** To-do lists of earlier runs. Updates of a known list create no part, and part keys must match the page's. */
  readonly earlierLists?: readonly TodoList[];
  readonly limits?: Partial<FrameLimits>;
}

export class RunRecording implements FrameCollector {
  readonly runId: string;
  readonly session: string;
  readonly dialect = "loom";
  readonly index: RunIndex;
  readonly usage: UsageStep[] = [];
  readonly frames: FrameStore<RecordedFrame, RecordedTurn>;
  readonly #earlierLists: readonly TodoList[];
  readonly #decoder: Decoder = LOOM_DECODING.createDecoder();
  readonly #receiver: Receiver = createLoomReceiver({ notify: "sync" });
  readonly #source: Source;
  #lastId: number | undefined;
  #cursor: string | undefined;

  constructor({ session, runId, turnKey, earlierLists = [], limits }: RecordingOptions) {
    this.session = session;
    this.runId = runId;
    this.index = new RunIndex(turnKey);
    this.frames = new FrameStore(() => ({ turn: this.#turn, usageCount: this.usage.length }), limits);
    this.#earlierLists = earlierLists;
    this.#source = this.#receiver.open({ dialect: this.dialect, session });
  }

  get count(): number {
    return this.frames.count;
  }

  /** Cursor of the last frame. */
  get cursor(): string | undefined {
    return this.#cursor;
  }

  get isOver(): boolean | undefined {
    const turn = this.frames.isFull ? undefined : this.#turn;
    return turn === undefined ? undefined : turn.status !== "running";
  }

  frameAt(index: number): RecordedFrame | undefined {
    return this.frames.frameAt(index);
  }

  add({ text, cursor }: WireFrame): void {
    const record = this.#chain(this.#decoder.decode(text).records[0]);
    const id = record?.envelope.event_id;
    this.#cursor = cursor ?? (id === undefined ? this.#cursor : String(id));
    this.frames.add(text, () => {
      if (this.count === 0) pushEarlierLists(this.#source, this.#earlierLists, this.session, id);
      const target = record === undefined ? undefined : this.#show(record);
      return { text, record, type: record?.event.type ?? "", target };
    });
  }

  /** Feeds the frames `from` to `to` to another receiver. */
  replay(source: Source, from: number, to: number): void {
    if (from === 0 && to > 0) pushEarlierLists(source, this.#earlierLists, this.session, this.#firstId);
    for (let i = from; i < to; i++) {
      const record = this.frameAt(i)?.record;
      if (record !== undefined) source.pushRecord(record);
    }
  }

  /** Milliseconds from the first frame to this one; undefined without timestamps. */
  timeAt(index: number): number | undefined {
    const start = this.frameAt(0)?.record?.envelope.ts;
    const ts = this.frameAt(index)?.record?.envelope.ts;
    return start === undefined || ts === undefined ? undefined : ts - start;
  }

  /** Returns the frame of this record, or of the first one after it. */
  findRecord(eventId: number): number | undefined {
    for (let index = 0; index < this.count; index++)
      if ((this.frameAt(index)?.record?.envelope.event_id ?? 0) >= eventId) return index;
    return undefined;
  }

  /** Returns the usage up to and including this frame. */
  findUsage(index: number): UsageStep | undefined {
    let [low, high] = [0, this.usage.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.usage[middle] as UsageStep).frame <= index) low = middle + 1;
      else high = middle;
    }
    return this.usage[low - 1];
  }

  get #firstId(): number | undefined {
    return this.frameAt(0)?.record?.envelope.event_id;
  }

  get #turn(): TurnView | undefined {
    const turns = this.#receiver.session(this.session).getSnapshot()?.turns ?? [];
    return turns.find(({ runId }) => runId === this.runId);
  }

  /** Links each record to the one before it, so that a missing frame does not block later ones. */
  #chain(record: EventRecord | undefined): EventRecord | undefined {
    const { event_id, prev_event_id } = record?.envelope ?? {};
    if (record === undefined || event_id === undefined) return record;
    const last = this.#lastId;
    this.#lastId = event_id;
    if (last === undefined || event_id <= last || (prev_event_id ?? event_id - 1) === last) return record;
    return { ...record, envelope: { ...record.envelope, prev_event_id: last } };
  }

  #show(record: EventRecord): ElementTarget | undefined {
    const { envelope, event } = record;
    this.#source.pushRecord(record);
    const isOwn = envelope.run_id === undefined || envelope.run_id === this.runId;
    const turn = isOwn ? this.#turn : undefined;
    if (turn === undefined) return undefined;
    if (event.type === "usage" && envelope.run_id !== undefined) this.#use(event as EventOf<"usage">);
    return this.index.record(this.count, turn, envelope.node_id);
  }

  #use({
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: total,
    cached_tokens: cached = 0,
    llm_call_id,
  }: EventOf<"usage">): void {
    const sum = (this.usage.at(-1)?.sum ?? 0) + total;
    this.usage.push({ frame: this.count, callId: llm_call_id, prompt, completion, cached, total, sum });
  }
}

/** Feeds the to-do lists of earlier runs before the first record. Their items have the current state. */
function pushEarlierLists(
  source: Source,
  lists: readonly TodoList[],
  session: string,
  firstId: number | undefined,
): void {
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
