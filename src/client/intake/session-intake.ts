/**
 * The intake of one session: orders and decodes its frames, applies the records to the view, and derives the stream
 * state. It knows nothing about connections; its inputs are frame sources.
 *
 * Invariants:
 * - A record is applied once, in the order of its number, or in order of arrival if it has none.
 * - The state is `complete` only when every received run has ended and nothing is known to be missing.
 */
import type { Decoder, DialectName } from "../../dialects/index.ts";
import type { Decoding } from "../../dialects/dialect.ts";
import { computeFingerprint, type FrameTraits, numberEvent } from "../../dialects/frame-traits.ts";
import type { EventRecord, JsonObject } from "../../protocol/index.ts";
import { BoundedMap } from "../../protocol/bounded-map.ts";
import { parseObject } from "../../protocol/json.ts";
import { mayLackRun } from "../../protocol/record.ts";
import type { ReceiverLimits } from "../limits.ts";
import type { StreamPosition } from "../transport.ts";
import type { SessionView, StreamReason, StreamState } from "../view.ts";
import { SessionFold } from "../view/session-fold.ts";
import { createIncomingFrame, type FrameSource, type IncomingFrame } from "./incoming-frame.ts";
import { type NumberedStream, Numberings, renumberStream } from "./numbered-stream.ts";
import { Sequence } from "./sequence.ts";
import { PositionTracker } from "./position-tracker.ts";
import { deriveState, type StreamFacts, INITIAL_STATE, NO_FACTS } from "./derive-state.ts";

const MAX_STREAMS = 10_000;

export class SessionIntake {
  readonly sessionId: string;
  readonly dialect: DialectName;
  readonly traits: FrameTraits;
  readonly sources = new Set<FrameSource>();
  readonly #limits: ReceiverLimits;
  readonly #keepsFrames: boolean;
  readonly #onChange: (intake: SessionIntake) => void;
  readonly #decoding: Decoding;
  #decoder: Decoder;
  #fold: SessionFold;
  /** The fold from before a restart. It is shown until the first new record arrives. */
  #previousFold: SessionFold | undefined;
  #dropped: StreamReason | undefined;
  readonly #streams = new BoundedMap<NumberedStream>(MAX_STREAMS);
  /** The last stream used; consecutive frames usually belong to the same one. */
  #lastKey: string | undefined;
  #lastStream: NumberedStream | undefined;
  #undetectable: "none" | "loss" | "all" = "none";
  #loss: StreamReason | undefined;
  /** Frames of a run arrived without its run_start. */
  #missingRunStart: StreamReason | undefined;
  /** Streams that hold frames because earlier ones are missing. */
  readonly #gapped = new Set<NumberedStream>();
  /** The start of the session or of its first run may be lost, and a source can find that out. */
  #isStartOpen = false;
  #tracker: PositionTracker;
  #numberings = new Numberings();
  #isAbandoned = false;
  #state: StreamState = INITIAL_STATE;
  #facts: StreamFacts = NO_FACTS;
  /** A cause of the state changed that its facts do not show. */
  #isStateStale = true;
  /** The only source whose unnumbered frames are accepted. */
  #owner: FrameSource | undefined;

  constructor(
    sessionId: string,
    dialect: DialectName,
    decoding: Decoding,
    limits: ReceiverLimits,
    onChange: (intake: SessionIntake) => void,
    { keepsFrames = false }: { readonly keepsFrames?: boolean } = {},
  ) {
    this.#keepsFrames = keepsFrames;
    this.#decoding = decoding;
    this.traits = decoding.traits;
    this.sessionId = sessionId;
    this.dialect = dialect;
    this.#limits = limits;
    this.#onChange = onChange;
    this.#decoder = decoding.createDecoder();
    this.#fold = this.#createFold();
    this.#tracker = new PositionTracker(this.#hasEventIds);
  }

  /** True if the numbers of frames are event IDs, and so positions in the log. */
  get #hasEventIds(): boolean {
    return this.traits.numbering?.isEventId === true;
  }

  /** Position after all frames received without a gap. */
  get position(): StreamPosition {
    return this.#tracker.position;
  }

  /** Number of frames received without a gap. */
  get frameCount(): number {
    return this.#tracker.count;
  }

  get isMissing(): boolean {
    return this.#gapped.size > 0;
  }

  /** Number of frames missing before the first held one, if known. */
  get missingCount(): number | undefined {
    return [...this.#gapped][0]?.sequence.missing;
  }

  /** True until it is known whether the session has frames before the first one received. */
  get isStartOpen(): boolean {
    return this.#isStartOpen && (this.#missingRunStart !== undefined || this.#streamOf("").sequence.startsAfter > 0);
  }

  /** True if no frame can be lost unnoticed, so that a run without an end is live. */
  get detectsLoss(): boolean {
    return this.#hasEventIds && this.#streamOf("").sequence.contiguous;
  }

  /** Takes the first frame that the server has. Returns false if a frame was lost before or after it. */
  confirmStart(text: string): boolean {
    const frame = parseObject(text);
    const found = frame === undefined ? undefined : this.traits.numbering?.readNumber(frame);
    const isBefore = (found?.number ?? 0) <= this.#streamOf("").sequence.startsAfter;
    if (isBefore || this.#missingRunStart !== undefined) return false;
    this.#isStartOpen = false;
    return true;
  }

  /** True when the receiver no longer has this session. */
  get isDropped(): boolean {
    return this.#dropped !== undefined;
  }

  drop(reason: StreamReason): void {
    this.#dropped = reason;
    this.#isStateStale = true;
  }

  get hasLiveRun(): boolean {
    return this.#fold.liveRuns > 0;
  }

  get runCount(): number {
    return this.#fold.runCount;
  }

  get state(): StreamState {
    const { liveRuns, runCount, verified, proofFault } = this.#fold;
    const before = this.#facts;
    const isCatchingUp = this.#tracker.isCatchingUp(runCount);
    // Read for every view and rarely different, so the last result is reused.
    if (
      !this.#isStateStale &&
      before.liveRuns === liveRuns &&
      before.runCount === runCount &&
      before.isVerified === verified &&
      before.isCatchingUp === isCatchingUp &&
      (before.undetectable === this.#undetectable || this.#streams.evicted)
    )
      return this.#state;
    this.#isStateStale = false;
    this.#facts = {
      phases: this.#dropped ? [{ kind: "failed", reason: this.#dropped }] : [...this.sources].map(({ phase }) => phase),
      isMissing: this.isMissing,
      lost: this.#loss ?? this.#missingRunStart,
      proofFault,
      liveRuns,
      runCount,
      isVerified: verified,
      isCatchingUp,
      // Once a stream is forgotten, repeating it cannot be noticed.
      undetectable: this.#streams.evicted ? "all" : this.#undetectable,
    };
    this.#state = deriveState(this.#state, this.#facts);
    return this.#state;
  }

  snapshot(): SessionView {
    const shown = this.#previousFold ?? this.#fold;
    shown.setState(this.state);
    return shown.snapshot();
  }

  expectHistory(lastId: number | undefined): void {
    this.#tracker.expectHistory(lastId, this.#fold.runCount);
  }

  /** Takes one frame; `frame` is undefined when the text is not a JSON object. */
  takeFrame(text: string, frame: JsonObject | undefined, cursor: string | undefined, by: FrameSource): void {
    const { numbering, streams } = this.traits;
    const number = frame === undefined ? undefined : numbering?.readNumber(frame);
    if (frame === undefined || number === undefined) this.#takeUnnumbered(text, frame, cursor, by);
    else this.#order(streams?.readKey(frame) ?? "", createIncomingFrame(number, text, frame, cursor), by);
    this.#onChange(this);
  }

  /** Takes a record that was decoded elsewhere. */
  takeRecord(record: EventRecord, by: FrameSource): void {
    const { event_id, prev_event_id, ts } = record.envelope;
    const stream = this.#streamOf("");
    if (
      event_id !== undefined &&
      prev_event_id === undefined &&
      record.event.type !== "run_start" &&
      stream.older.length === 0 &&
      stream.sequence.advance(event_id, computeFingerprint(ts, record.event as JsonObject))
    ) {
      this.#tracker.advance(undefined, event_id);
      this.#apply(record, stream.sequence.contiguous);
      this.#onChange(this);
      return;
    }
    const number = numberEvent(record.envelope, record.event as JsonObject);
    if (number !== undefined) this.#order("", createIncomingFrame(number, "", undefined, undefined, record), by);
    else if (this.#mayOwn(by)) this.#apply(record, false);
    this.#onChange(this);
  }

  addIssue(rule: string, message: string): void {
    this.#fold.addIssue({ rule, message });
    this.#onChange(this);
  }

  /** Notes that a source changed. */
  touch(): void {
    this.#isStateStale = true;
    this.#onChange(this);
  }

  /** True when missing frames were given up because the last source ended. A new connection may still find them. */
  get isAbandoned(): boolean {
    return this.#isAbandoned;
  }

  /** Called when the last source ended. `isAll` is true if it ended normally. */
  abandon(isAll: boolean): void {
    // A reload that delivered nothing means that the session is empty.
    if (isAll) this.#previousFold = undefined;
    this.#isStartOpen = false;
    if (!this.isMissing) return;
    this.#isAbandoned = true;
    this.giveUp();
  }

  /** Sets the cursor of the stream's start, for wire formats whose frames have no cursor. */
  begin(cursor: string): void {
    this.#tracker.begin(cursor);
  }

  /** Continues with the held frames. The state then reports the missing ones. */
  giveUp(reason?: StreamReason): void {
    if (this.isStartOpen) {
      this.#isStartOpen = false;
      this.#recordLoss(this.#missingRunStart ?? { code: "frames_missing", message: "The session's start is missing" });
    }
    if (!this.isMissing) return;
    const count = [...this.#gapped].reduce((sum, { sequence }) => sum + sequence.skip(), 0);
    this.#gapped.clear();
    this.#setMissing(false);
    this.#recordLoss(
      reason ?? { code: "frames_missing", message: `${count} ${count === 1 ? "frame" : "frames"} missing` },
    );
    this.#onChange(this);
  }

  /** Skips to this record, because the server no longer has the earlier ones. The state reports the loss. */
  skipTo(eventId: number): void {
    this.#isStartOpen = false;
    this.giveUp();
    if (this.#hasEventIds) this.#streamOf("").sequence.jumpTo(eventId);
    this.#tracker.goTo(eventId - 1);
    this.#recordLoss({ code: "frames_missing", message: `The server no longer has the records before ${eventId}` });
    this.#onChange(this);
  }

  /** Clears the session, because the stream starts again from the beginning. */
  restart(): void {
    this.#previousFold ??= this.#fold;
    this.#reset();
    this.#streams.clear();
    this.#gapped.clear();
    this.#isStartOpen = false;
    this.#lastKey = undefined;
    this.#loss = undefined;
    this.#tracker = new PositionTracker(this.#hasEventIds);
    this.#numberings = new Numberings();
    this.#isAbandoned = false;
    this.#owner = undefined;
    this.#onChange(this);
  }

  release(by: FrameSource): void {
    if (this.#owner === by) this.#owner = undefined;
  }

  #takeUnnumbered(text: string, frame: JsonObject | undefined, cursor: string | undefined, by: FrameSource): void {
    const isUncounted = frame !== undefined && this.traits.numbering?.isUncounted?.(frame) === true;
    if (isUncounted && this.#streamOf("").sequence.contiguous) {
      this.#tracker.advance(cursor);
      return;
    }
    // Unreadable text, such as keep-alive lines, is not treated as an unnumbered frame.
    const isNoise = frame === undefined && text.trim() !== this.traits.endText;
    if (!isNoise && !this.#mayOwn(by)) return;
    this.#tracker.advance(cursor);
    const { records, issues } = this.#decoder.decode(text, frame);
    for (const { rule, message } of issues) this.#fold.addIssue({ rule, message });
    for (const record of records) this.#apply(record, false);
  }

  /** Unnumbered frames cannot be checked for duplicates, so only one source may deliver them. */
  #mayOwn(by: FrameSource): boolean {
    this.#undetectable = "all";
    this.#owner ??= by;
    if (this.#owner === by) return true;
    this.#recordLoss({
      code: "cannot_merge",
      message: "A second source sent frames without numbers; they cannot be merged",
    });
    return false;
  }

  #order(key: string, incoming: IncomingFrame, by: FrameSource): void {
    let stream = this.#streamOf(key);
    if (this.#hasEventIds) {
      const found = this.#numberings.find(stream, incoming, by);
      if (found === "duplicate") return;
      if (found === "new") {
        stream = this.#renumber(key, stream);
        this.#numberings.begin(stream, incoming, by, this.sources);
      } else if (found !== stream.sequence) stream = { ...stream, sequence: found };
      // A frame of an earlier stream with this ID is a duplicate, even if its number would fit.
    } else if (stream.older.some((sequence) => sequence.hasTaken(incoming))) return;
    const isFirst = stream.sequence.last === undefined;
    const verdict = stream.sequence.insert(incoming);
    if (isFirst && stream.sequence.startsAfter > 0) this.#openStart();
    if (verdict === "full") {
      this.#overflow(key, stream, incoming, by);
      return;
    }
    if (verdict === "late")
      this.#recordLoss({ code: "frames_missing", message: `Frame ${incoming.number} arrived too late to be shown` });
    else if (verdict === "conflict") this.#resolveConflict(key, stream, incoming, by);
    // A reordered stream may have discovered a gap too.
    const wasMissing = this.isMissing;
    if (stream.sequence.heldCount > 0) this.#gapped.add(stream);
    else if (wasMissing) this.#gapped.delete(stream);
    if (wasMissing !== this.isMissing) this.#setMissing(this.isMissing);
  }

  /** Asks the sources for the start: a log may start anywhere, and its first frame may be lost. */
  #openStart(): void {
    const asked = [...this.sources].filter(({ onMissing }) => onMissing !== undefined);
    this.#isStartOpen = this.#hasEventIds && asked.length > 0;
    if (this.#isStartOpen) for (const { onMissing } of asked) onMissing?.();
  }

  /**
   * Handles more held frames than allowed. If a source can request them again, they are discarded. Otherwise they are
   * shown and the missing ones are given up.
   */
  #overflow(key: string, stream: NumberedStream, incoming: IncomingFrame, by: FrameSource): void {
    const waiting = [...this.sources].filter(({ onOverflow }) => onOverflow !== undefined);
    if (waiting.length === 0) {
      this.giveUp({ code: "held_limit", message: "Too many frames arrived after a missing one" });
      this.#order(key, incoming, by);
      return;
    }
    stream.sequence.drop();
    this.#gapped.delete(stream);
    if (!this.isMissing) this.#setMissing(false);
    for (const { onOverflow } of waiting) onOverflow?.();
  }

  /**
   * Two different frames have the same number. After the end of a stream, another one with the same key may start;
   * anything else is a loss.
   */
  #resolveConflict(key: string, stream: NumberedStream, incoming: IncomingFrame, by: FrameSource): void {
    if (stream.ended && incoming.frame !== undefined && this.traits.streams?.isStart(incoming.frame)) {
      this.#renumber(key, stream);
      this.#order(key, incoming, by);
      return;
    }
    this.#recordLoss({ code: "id_conflict", message: `Two different frames have number ${incoming.number}` });
  }

  #renumber(key: string, before: NumberedStream): NumberedStream {
    this.#streams.set(key, renumberStream(before, this.#createSequence(key)));
    this.#lastKey = undefined;
    return this.#streamOf(key);
  }

  #streamOf(key: string): NumberedStream {
    if (key === this.#lastKey) return this.#lastStream as NumberedStream;
    let stream = this.#streams.get(key);
    if (stream === undefined) {
      stream = { sequence: this.#createSequence(key), ended: false, older: [] };
      this.#streams.set(key, stream);
    }
    this.#lastKey = key;
    this.#lastStream = stream;
    return stream;
  }

  #createSequence(key: string): Sequence<IncomingFrame> {
    const { maxHeldFrames, maxHeldCharacters } = this.#limits;
    return new Sequence<IncomingFrame>({
      maxHeld: maxHeldFrames,
      maxHeldCharacters,
      first: this.traits.numbering?.first,
      keepsItems: this.#keepsFrames,
      take: (incoming, sure) => this.#take(key, incoming, sure),
      reset: () => {
        // Unnumbered frames and those of earlier numberings are not kept and could not be replayed.
        if (this.#undetectable === "all" || (this.#streams.get(key)?.older.length ?? 0) > 0) return false;
        // Only the frames of this stream can be replayed.
        if (this.#keepsFrames && this.#streams.size > 1) return false;
        if (this.#keepsFrames) this.#loss = undefined;
        this.#reset();
        return true;
      },
    });
  }

  #take(key: string, incoming: IncomingFrame, sure: boolean): void {
    this.#tracker.advance(incoming.cursor, incoming.number);
    if (incoming.record !== undefined) {
      this.#apply(incoming.record, sure);
      return;
    }
    const { records, issues } = this.#decoder.decode(incoming.text, incoming.frame);
    for (const { rule, message } of issues) this.#fold.addIssue({ rule, message });
    if (records.length === 0 && issues.some(({ level }) => level === "error"))
      this.#recordLoss({ code: "frame_refused", message: issues[0]?.message ?? "A frame could not be read" });
    for (const record of records) this.#apply(record, sure);
    if (incoming.frame !== undefined && this.traits.streams?.isEnd(incoming.frame)) {
      const stream = this.#streams.get(key);
      if (stream !== undefined) stream.ended = true;
    }
  }

  #apply(record: EventRecord, sure: boolean): void {
    const { runCount } = this.#fold;
    this.#previousFold = undefined;
    if (
      !sure &&
      this.#undetectable === "none" &&
      this.traits.numbering?.first === undefined &&
      !(record.envelope.run_id === undefined && mayLackRun(record.event))
    )
      this.#undetectable = "loss";
    this.#fold.apply(record, sure);
    if (this.#fold.runCount > runCount && record.event.type !== "run_start" && this.#undetectable !== "all")
      this.#noteMissingRunStart();
  }

  #noteMissingRunStart(): void {
    if (this.#missingRunStart !== undefined) return;
    this.#missingRunStart = { code: "frames_missing", message: "The start of a run is missing" };
    this.#isStateStale = true;
    if (!this.detectsLoss) this.#openStart();
  }

  /** Records a frame that will never be readable, and counts it, so that the position remains correct. */
  refuse(message: string): void {
    this.#tracker.advance(undefined);
    this.#recordLoss({ code: "frame_refused", message });
    this.#onChange(this);
  }

  #setMissing(isMissing: boolean): void {
    this.#isStateStale = true;
    this.#tracker.freeze(isMissing);
    if (isMissing) for (const source of this.sources) source.onMissing?.();
  }

  #recordLoss(reason: StreamReason): void {
    this.#loss ??= reason;
    this.#isStateStale = true;
    this.#fold.addIssue({ rule: reason.code, message: reason.message });
  }

  /** Clears the view before the kept frames are applied again in another order. */
  #reset(): void {
    this.#decoder = this.#decoding.createDecoder();
    this.#fold = this.#createFold();
    this.#missingRunStart = undefined;
    this.#undetectable = "none";
    this.#isStateStale = true;
  }

  /** Numbers only order the frames of one stream, so with several streams turns are ordered by time. */
  #createFold(): SessionFold {
    return new SessionFold(this.sessionId, this.#limits, { byTime: this.traits.streams !== undefined });
  }
}
