/**
 * One session on its way in: orders and decodes its frames, applies the records to the view, and knows how far what is
 * shown can be vouched for. It knows no connection; those who bring frames are tracks.
 *
 * Invariants:
 * - A record reaches the view once, in the order of its number, or in the order of arrival where it has none.
 * - `complete` is said only when every run that was heard of is over and nothing is known to be missing.
 */
import type { Decoder, Decoding, DialectName } from "../../dialects/index.ts";
import { BoundedMap, type EventRecord, type JsonObject, mayLackRun } from "../../protocol/index.ts";
import type { ReceiverLimits } from "../limits.ts";
import type { Place } from "../transport.ts";
import type { SessionView, StreamReason, StreamState } from "../view.ts";
import { SessionFold } from "../view/session-fold.ts";
import { type Incoming, numberFrame, numberRecord, printOf, streamOf } from "./number-frame.ts";
import { Sequence } from "./sequence.ts";
import { PlaceKeeper } from "./place-keeper.ts";
import { deriveState, type Facts, INITIAL_STATE, NO_FACTS, type Phase } from "./state.ts";

/** Somebody who brings frames of the session. */
export interface FrameSource {
  readonly phase: Phase;
  /** On whose behalf. */
  readonly owner: object;
  /** Called when frames are held because some before them did not come. */
  onMissing: (() => void) | undefined;
  /** Called when too many would have to be held: all after `place` must come again. */
  onOverflow: (() => void) | undefined;
}

interface Stream {
  readonly sequence: Sequence<Incoming>;
  /** Its end mark was taken: the same name may begin anew. */
  ended: boolean;
  /** Those that bore the same name before it. */
  readonly older: readonly Sequence<Incoming>[];
}

const MAX_STREAMS = 10_000;
const MAX_OLDER = 16;

export class Intake {
  readonly sessionId: string;
  readonly dialect: DialectName;
  readonly sources = new Set<FrameSource>();
  readonly #limits: ReceiverLimits;
  readonly #onChange: (intake: Intake) => void;
  readonly #decoding: Decoding;
  #decoder: Decoder;
  #fold: SessionFold;
  /** What was shown before everything began anew: it stays until something new is there. */
  #before: SessionFold | undefined;
  #dropped: StreamReason | undefined;
  readonly #streams = new BoundedMap<Stream>(MAX_STREAMS);
  /** The stream asked for last: frames come in long rows of one. */
  #key: string | undefined;
  #stream: Stream | undefined;
  #isBlind: "no" | "loss" | "all" = "no";
  #lost: StreamReason | undefined;
  /** Frames of a run came whose run_start did not. */
  #missingRunStart: StreamReason | undefined;
  /** Streams in which frames are held because some before them did not come. */
  readonly #gapped = new Set<Stream>();
  #placeKeeper: PlaceKeeper;
  #isAbandoned = false;
  #state: StreamState = INITIAL_STATE;
  #facts: Facts = NO_FACTS;
  /** Something happened that the numbers of the view do not show. */
  #isUnsettled = true;
  /** Whoever brought frames without numbers: nobody else may while he does. */
  #owner: FrameSource | undefined;

  constructor(
    sessionId: string,
    dialect: DialectName,
    decoding: Decoding,
    limits: ReceiverLimits,
    onChange: (intake: Intake) => void,
  ) {
    this.#decoding = decoding;
    this.sessionId = sessionId;
    this.dialect = dialect;
    this.#limits = limits;
    this.#onChange = onChange;
    this.#decoder = decoding.createDecoder();
    this.#fold = createFold(sessionId, dialect, limits);
    this.#placeKeeper = new PlaceKeeper(dialect === "loom");
  }

  /** To go on after everything that was taken in good order. */
  get place(): Place {
    return this.#placeKeeper.place;
  }

  /** Frames taken in good order so far. */
  get frameCount(): number {
    return this.#placeKeeper.count;
  }

  get isMissing(): boolean {
    return this.#gapped.size > 0;
  }

  /** How many frames are missing before the first that is held, where their numbers tell. */
  get missingCount(): number | undefined {
    const [first] = this.#gapped;
    return first?.sequence.missing;
  }

  /** It is no longer among the sessions of the receiver. */
  get isDropped(): boolean {
    return this.#dropped !== undefined;
  }

  drop(reason: StreamReason): void {
    this.#dropped = reason;
    this.#isUnsettled = true;
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
    // Asked for with every view that is made, and nearly always the same.
    if (
      !this.#isUnsettled &&
      before.liveRuns === liveRuns &&
      before.runCount === runCount &&
      before.isVerified === verified &&
      (before.blindness === this.#isBlind || this.#streams.evicted)
    )
      return this.#state;
    this.#isUnsettled = false;
    this.#facts = {
      phases: this.#dropped === undefined ? this.#phases : [{ kind: "failed", reason: this.#dropped }],
      isMissing: this.isMissing,
      lost: this.#lost ?? this.#missingRunStart ?? proofReason(proofFault),
      liveRuns,
      runCount,
      isVerified: verified,
      // A request that was forgotten could come again, and nobody would know.
      blindness: this.#streams.evicted ? "all" : this.#isBlind,
    };
    this.#state = deriveState(this.#state, this.#facts);
    return this.#state;
  }

  get #phases(): readonly Phase[] {
    return [...this.sources].map(({ phase }) => phase);
  }

  snapshot(): SessionView {
    const shown = this.#before ?? this.#fold;
    shown.setState(this.state);
    return shown.snapshot();
  }

  /** One frame, parsed where it could be. */
  takeFrame(text: string, frame: JsonObject | undefined, cursor: string | undefined, by: FrameSource): void {
    const incoming = frame === undefined ? undefined : numberFrame(this.dialect, frame, text, cursor);
    if (incoming === undefined) this.#takeUnnumbered(text, frame, cursor, by);
    else this.#order(streamOf(this.dialect, frame as JsonObject), incoming);
    this.#onChange(this);
  }

  /** A record that was decoded elsewhere. */
  takeRecord(record: EventRecord, by: FrameSource): void {
    const { event_id, prev_event_id, ts } = record.envelope;
    const stream = this.#streamOf("");
    if (
      event_id !== undefined &&
      prev_event_id === undefined &&
      record.event.type !== "run_start" &&
      stream.sequence.advance(event_id, printOf(ts, record.event as JsonObject))
    ) {
      this.#placeKeeper.advance(undefined, event_id);
      this.#apply(record, stream.sequence.contiguous);
      this.#onChange(this);
      return;
    }
    const incoming = numberRecord(record);
    if (incoming !== undefined) this.#order("", incoming);
    else if (this.#mayOwn(by)) this.#apply(record, false);
    this.#onChange(this);
  }

  addIssue(rule: string, message: string): void {
    this.#fold.addIssue({ rule, message });
    this.#onChange(this);
  }

  /** Something changed with one of those who bring frames. */
  touch(): void {
    this.#isUnsettled = true;
    this.#onChange(this);
  }

  /** Frames were given up because nobody was left to bring them: whoever comes may still find them. */
  get isAbandoned(): boolean {
    return this.#isAbandoned;
  }

  /** Nobody brings frames any more; `isAll`: because there are no more. */
  abandon(isAll: boolean): void {
    // A session that was read anew and had nothing is empty.
    if (isAll) this.#before = undefined;
    if (!this.isMissing) return;
    this.#isAbandoned = true;
    this.giveUp();
  }

  /** A cursor of where the stream began, for wires whose frames have none. */
  begin(cursor: string): void {
    this.#placeKeeper.begin(cursor);
  }

  /** Goes on with what is held; what was missing stays so, and the state says it. */
  giveUp(reason?: StreamReason): void {
    if (!this.isMissing) return;
    let count = 0;
    for (const { sequence } of this.#gapped) count += sequence.skip();
    this.#gapped.clear();
    this.#setMissing(false);
    this.#lose(reason ?? { code: "frames_missing", message: `${plural(count, "frame")} did not come` });
    this.#onChange(this);
  }

  /** The records before this one are gone for good: goes on with it, and the state says so. */
  skipTo(eventId: number): void {
    this.giveUp();
    if (this.dialect === "loom") this.#streamOf("").sequence.jumpTo(eventId);
    this.#placeKeeper.goTo(eventId - 1);
    this.#lose({ code: "frames_missing", message: `what came before record ${eventId} is no longer held` });
    this.#onChange(this);
  }

  /** Forgets everything: the stream comes from its beginning. */
  restart(): void {
    this.#before ??= this.#fold;
    this.#reset();
    this.#streams.clear();
    this.#gapped.clear();
    this.#key = undefined;
    this.#lost = undefined;
    this.#placeKeeper = new PlaceKeeper(this.dialect === "loom");
    this.#isAbandoned = false;
    this.#owner = undefined;
    this.#onChange(this);
  }

  release(by: FrameSource): void {
    if (this.#owner === by) this.#owner = undefined;
  }

  #takeUnnumbered(text: string, frame: JsonObject | undefined, cursor: string | undefined, by: FrameSource): void {
    // Noise condemns nothing.
    const isNoise = frame === undefined && text.trim() !== "[DONE]";
    if (!isNoise && !this.#mayOwn(by)) return;
    this.#placeKeeper.advance(cursor);
    const { records, issues } = this.#decoder.decode(text, frame);
    for (const { rule, message } of issues) this.#fold.addIssue({ rule, message });
    for (const record of records) this.#apply(record, false);
  }

  /** Frames without numbers cannot be told from doubles: only one may bring them at a time. */
  #mayOwn(by: FrameSource): boolean {
    this.#isBlind = "all";
    this.#owner ??= by;
    if (this.#owner === by) return true;
    this.#lose({ code: "cannot_merge", message: "a second source brought frames without numbers" });
    return false;
  }

  #order(key: string, incoming: Incoming): void {
    const stream = this.#streamOf(key);
    // A frame of one that bore this name before is a double, also where it would fit.
    if (stream.older.some((sequence) => sequence.hasTaken(incoming))) return;
    const verdict = stream.sequence.place(incoming);
    switch (verdict) {
      case "taken":
      case "double":
      case "held":
        break;
      case "late":
        this.#lose({ code: "frames_missing", message: `frame ${incoming.number} came too late to be shown` });
        break;
      case "conflict":
        this.#resolveConflict(key, stream, incoming);
        break;
      case "full":
        this.#overflow(key, stream, incoming);
        return;
    }
    // Not only what was held just now: a stream that was put in order anew may have found out that it has a gap.
    const wasMissing = this.isMissing;
    if (stream.sequence.heldCount > 0) this.#gapped.add(stream);
    else if (wasMissing) this.#gapped.delete(stream);
    if (wasMissing !== this.isMissing) this.#setMissing(this.isMissing);
  }

  /** Whoever can ask for it again lets go of what is held; otherwise it is shown, and what is missing stays so. */
  #overflow(key: string, stream: Stream, incoming: Incoming): void {
    const waiting = [...this.sources].filter(({ onOverflow }) => onOverflow !== undefined);
    if (waiting.length === 0) {
      this.giveUp({ code: "held_limit", message: "too many frames came after some that are missing" });
      this.#order(key, incoming);
      return;
    }
    stream.sequence.drop();
    this.#gapped.delete(stream);
    if (!this.isMissing) this.#setMissing(false);
    for (const { onOverflow } of waiting) onOverflow?.();
  }

  /** Two different frames with one number: a request's name used again begins anew, anything else is told. */
  #resolveConflict(key: string, stream: Stream, incoming: Incoming): void {
    if (stream.ended && incoming.frame?.["type"] === "session_start") {
      const older = [stream.sequence, ...stream.older].slice(0, MAX_OLDER);
      this.#streams.set(key, { sequence: this.#createSequence(key), ended: false, older });
      this.#key = undefined;
      this.#order(key, incoming);
      return;
    }
    this.#lose({ code: "id_conflict", message: `two different frames have the number ${incoming.number}` });
  }

  #streamOf(key: string): Stream {
    if (key === this.#key) return this.#stream as Stream;
    let stream = this.#streams.get(key);
    if (stream === undefined) {
      stream = { sequence: this.#createSequence(key), ended: false, older: [] };
      this.#streams.set(key, stream);
    }
    this.#key = key;
    this.#stream = stream;
    return stream;
  }

  #createSequence(key: string): Sequence<Incoming> {
    const { maxHeldFrames, maxHeldCharacters } = this.#limits;
    return new Sequence<Incoming>({
      maxHeld: maxHeldFrames,
      maxHeldCharacters,
      ...(this.dialect === "engine" ? { first: 0 } : {}),
      take: (incoming, sure) => this.#take(key, incoming, sure),
      reset: () => {
        // What came without a number is not kept, and would not come again.
        if (this.#isBlind === "all") return false;
        this.#reset();
        return true;
      },
    });
  }

  #take(key: string, incoming: Incoming, sure: boolean): void {
    this.#placeKeeper.advance(incoming.cursor, incoming.number);
    if (incoming.record !== undefined) {
      this.#apply(incoming.record, sure);
      return;
    }
    const { records, issues } = this.#decoder.decode(incoming.text, incoming.frame);
    for (const { rule, message } of issues) this.#fold.addIssue({ rule, message });
    if (records.length === 0 && issues.some(({ level }) => level === "error"))
      this.#lose({ code: "frame_refused", message: issues[0]?.message ?? "a frame could not be read" });
    for (const record of records) this.#apply(record, sure);
    if (
      this.dialect === "engine" &&
      (incoming.frame?.["type"] === "session_end" || incoming.frame?.["type"] === "done")
    ) {
      const stream = this.#streams.get(key);
      if (stream !== undefined) stream.ended = true;
    }
  }

  #apply(record: EventRecord, sure: boolean): void {
    const { runCount } = this.#fold;
    this.#before = undefined;
    if (
      !sure &&
      this.#isBlind === "no" &&
      this.dialect === "loom" &&
      !(record.envelope.run_id === undefined && mayLackRun(record.event))
    )
      this.#isBlind = "loss";
    this.#fold.apply(record, sure);
    if (this.#fold.runCount > runCount && record.event.type !== "run_start" && this.#isBlind !== "all") this.#behead();
  }

  #behead(): void {
    this.#missingRunStart ??= { code: "frames_missing", message: "the beginning of a run did not come" };
    this.#isUnsettled = true;
  }

  /** Something stood where a frame would, and could not be read: it is counted where frames are. */
  passOver(): void {
    this.#placeKeeper.advance(undefined);
  }

  /** A frame that will never be read. */
  refuse(message: string): void {
    this.#lose({ code: "frame_refused", message });
    this.#onChange(this);
  }

  #setMissing(isMissing: boolean): void {
    this.#isUnsettled = true;
    this.#placeKeeper.freeze(isMissing);
    if (isMissing) for (const bringer of this.sources) bringer.onMissing?.();
  }

  #lose(reason: StreamReason): void {
    this.#lost ??= reason;
    this.#isUnsettled = true;
    this.#fold.addIssue({ rule: reason.code, message: reason.message });
  }

  /** The view begins anew; what was taken is taken again in another order. */
  #reset(): void {
    this.#decoder = this.#decoding.createDecoder();
    this.#fold = createFold(this.sessionId, this.dialect, this.#limits);
    this.#missingRunStart = undefined;
    this.#isBlind = "no";
    this.#isUnsettled = true;
  }
}

/** The numbers of `engine` order the frames of a request; which began first is told by their times. */
function createFold(sessionId: string, dialect: DialectName, limits: ReceiverLimits): SessionFold {
  return new SessionFold(sessionId, limits, { byTime: dialect === "engine" });
}

function proofReason(fault: string | undefined): StreamReason | undefined {
  return fault === undefined ? undefined : { code: "proof_failed", message: fault };
}

function plural(count: number, what: string): string {
  return count === 1 ? `1 ${what}` : `${count} ${what}s`;
}
