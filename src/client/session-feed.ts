/**
 * The input of one session from one connection or source. The feed passes frames and state changes to the session's
 * intake, and reports what is missing and where to resume.
 */
import type { EventRecord, JsonObject } from "../protocol/index.ts";
import { parseObject } from "../protocol/json.ts";
import type { FrameSource } from "./intake/incoming-frame.ts";
import type { SessionIntake } from "./intake/session-intake.ts";
import type { FeedPhase } from "./intake/derive-state.ts";
import type { StreamPosition } from "./transport.ts";
import type { StreamReason, StreamState } from "./view.ts";

const OPEN: FeedPhase = { kind: "open" };

/** The input of one session; see `Receiver.openFeed`. */
export class SessionFeed implements FrameSource {
  readonly #intake: SessionIntake;
  /** The source it belongs to, or the feed itself. */
  readonly owner: object;
  #phase: FeedPhase = OPEN;
  /** The frame, and those after it that name no session, belong to another session. */
  #isOtherSession = false;
  /** Called when `missing` becomes defined. */
  onMissing: (() => void) | undefined;
  /** Called when too many frames would have to be held. Everything after `position` must be sent again. */
  onOverflow: (() => void) | undefined;

  /** @internal */
  constructor(intake: SessionIntake, owner?: object) {
    this.#intake = intake;
    this.owner = owner ?? this;
    for (const other of intake.sources) if (!isActive(other)) intake.sources.delete(other);
    // A connection can still fetch frames that were given up when the previous source ended.
    if (owner === undefined && intake.isAbandoned) intake.restart();
    intake.sources.add(this);
    intake.touch();
  }

  get phase(): FeedPhase {
    return this.#phase;
  }

  /** True when the receiver no longer has this session. */
  get isDropped(): boolean {
    return this.#intake.isDropped;
  }

  get sessionId(): string {
    return this.#intake.sessionId;
  }

  /** Position after all frames received without a gap. */
  get position(): StreamPosition {
    return this.#intake.position;
  }

  /**
   * Defined while frames are held because earlier ones are missing, and until it is known whether the start of the
   * session, or of its first run, is lost; `count` is then undefined.
   */
  get missing(): { readonly count: number | undefined } | undefined {
    if (this.#intake.isMissing) return { count: this.#intake.missingCount };
    return this.#intake.isStartOpen ? { count: undefined } : undefined;
  }

  /** Takes the first frame that the server has. Returns false if a frame was lost before or after it. */
  confirmStart(text: string): boolean {
    return this.#intake.confirmStart(text);
  }

  /** True if a received run has not ended. */
  get hasLiveRun(): boolean {
    return this.#intake.hasLiveRun;
  }

  /** True if no frame can be lost unnoticed, so that a run without an end is live. */
  get detectsLoss(): boolean {
    return this.#intake.detectsLoss;
  }

  /** Number of runs received so far. */
  get runCount(): number {
    return this.#intake.runCount;
  }

  /** Number of frames received without a gap. */
  get frameCount(): number {
    return this.#intake.frameCount;
  }

  /** State of the session's stream. */
  get state(): StreamState {
    return this.#intake.state;
  }

  /** Takes one whole frame, with the cursor to resume after it if there is one. */
  take(text: string, cursor?: string): void {
    this.takeParsed(text, parseObject(text), cursor);
  }

  /** Like `take`, for a frame that is already parsed; `frame` is undefined when the text is not a JSON object. */
  takeParsed(text: string, frame: JsonObject | undefined, cursor?: string): void {
    if (!this.#isActive) return;
    const { traits } = this.#intake;
    const named = frame === undefined ? undefined : traits.readSession(frame, false);
    if (named !== undefined) this.#isOtherSession = named !== this.sessionId;
    if (this.#isOtherSession) {
      if (named !== undefined)
        this.#intake.addIssue("id_conflict", `received a frame of session ${named.slice(0, 80)}, which was ignored`);
      if (traits.unnamed !== "current") this.#isOtherSession = false;
      return;
    }
    this.#intake.takeFrame(text, frame, cursor, this);
  }

  /** Takes a record that was decoded elsewhere. */
  takeRecord(record: EventRecord): void {
    if (!this.#isActive) return;
    this.#intake.takeRecord(record, this);
  }

  /** Reports input that could not be read as a frame, but may be readable on the next attempt. */
  fault(message: string): void {
    this.#intake.addIssue("frame_refused", message);
  }

  /** Skips input that will never be readable as a frame. The state then reports a missing frame. */
  refuse(message: string): void {
    this.#intake.refuse(message);
  }

  /** Sets the cursor of the stream's start, for wire formats whose frames have no cursor. */
  begin(cursor: string): void {
    this.#intake.begin(cursor);
  }

  /** Records up to this one happened before the stream was opened. Undefined: the session has caught up. */
  expectHistory(lastId: number | undefined): void {
    if (!this.#isActive) return;
    this.#intake.expectHistory(lastId);
    this.#intake.touch();
  }

  /** Marks the session as being repaired, or, with undefined, as repaired. */
  setRepairing(reason: StreamReason | undefined): void {
    if (this.#isActive) this.#setPhase(reason === undefined ? OPEN : { kind: "repairing", reason });
  }

  /**
   * Continues with the held frames; the state stays `gap`. Does nothing while another source is active, which may still
   * deliver the missing frames.
   */
  giveUp(): void {
    if (![...this.#intake.sources].some((source) => source !== this && isActive(source))) this.#intake.giveUp();
  }

  /** Skips to this record, because the server no longer has the earlier ones. */
  skipTo(eventId: number): void {
    this.#intake.skipTo(eventId);
  }

  /** Clears the session, because the stream starts again from the beginning. */
  restart(): void {
    this.#intake.restart();
  }

  /** Ends the feed: nothing more will arrive. */
  finish(): void {
    this.#close({ kind: "ended" });
  }

  /** Ends the feed because of a failure. */
  fail(reason: StreamReason): void {
    this.#close({ kind: "failed", reason });
  }

  #close(phase: FeedPhase): void {
    this.expectHistory(undefined);
    if (!this.#isActive) return;
    this.#setPhase(phase);
    if (![...this.#intake.sources].some(isActive)) this.#intake.abandon(phase.kind === "ended");
    this.#intake.release(this);
  }

  get #isActive(): boolean {
    return isActive(this);
  }

  #setPhase(phase: FeedPhase): void {
    this.#phase = phase;
    this.#intake.touch();
  }
}

/** True while the source may deliver more frames. */
export function isActive({ phase: { kind } }: FrameSource): boolean {
  return kind === "open" || kind === "repairing";
}
