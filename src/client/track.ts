/**
 * One who brings frames of one session: a connection, or a source that was handed texts. Through it the bringer tells
 * what befalls him, and is told what is missing and where to go on.
 */
import { type EventRecord, isJsonObject, type JsonObject } from "../protocol/index.ts";
import type { FrameSource, Intake } from "./intake/intake.ts";
import { sessionOf } from "./intake/number-frame.ts";
import type { Phase } from "./intake/state.ts";
import type { Place } from "./transport.ts";
import type { StreamReason, StreamState } from "./view.ts";

const OPEN: Phase = { kind: "open" };

export class Track implements FrameSource {
  readonly #intake: Intake;
  /** On whose behalf it brings frames. */
  readonly owner: object;
  #phase: Phase = OPEN;
  /** The frames that come are of another session. */
  #isAstray = false;
  /** Called when `missing` becomes defined. */
  onMissing: (() => void) | undefined;
  /** Called when too many frames would have to be held: all after `place` must come again. */
  onOverflow: (() => void) | undefined;

  constructor(intake: Intake, owner?: object) {
    this.#intake = intake;
    this.owner = owner ?? this;
    for (const other of intake.sources) if (!isBringing(other)) intake.sources.delete(other);
    // A connection can find what was given up when the last one went.
    if (owner === undefined && intake.isAbandoned) intake.restart();
    intake.sources.add(this);
    intake.touch();
  }

  get phase(): Phase {
    return this.#phase;
  }

  /** Its session is no longer among those of the receiver. */
  get isDropped(): boolean {
    return this.#intake.isDropped;
  }

  get sessionId(): string {
    return this.#intake.sessionId;
  }

  /** To go on after everything that was taken in good order. */
  get place(): Place {
    return this.#intake.place;
  }

  /** Frames are held because some before them did not come; how many, where their numbers tell. */
  get missing(): { readonly count: number | undefined } | undefined {
    return this.#intake.isMissing ? { count: this.#intake.missingCount } : undefined;
  }

  get hasLiveRun(): boolean {
    return this.#intake.hasLiveRun;
  }

  get runCount(): number {
    return this.#intake.runCount;
  }

  get frameCount(): number {
    return this.#intake.frameCount;
  }

  get state(): StreamState {
    return this.#intake.state;
  }

  take(text: string, cursor?: string): void {
    this.takeParsed(text, parseObject(text), cursor);
  }

  /** The same for a frame whose text was parsed already; undefined where it is no JSON object. */
  takeParsed(text: string, frame: JsonObject | undefined, cursor?: string): void {
    if (!this.#isBringing) return;
    const named = frame === undefined ? undefined : sessionOf(this.#intake.dialect, frame);
    if (named !== undefined) this.#isAstray = named !== this.sessionId;
    if (this.#isAstray) {
      if (named !== undefined)
        this.#intake.addIssue("id_conflict", `a frame of session ${named.slice(0, 80)} came with those of this one`);
      // In 004 what follows a greeting is of the session that was greeted; elsewhere each frame says it.
      if (this.#intake.dialect !== "lumine") this.#isAstray = false;
      return;
    }
    this.#intake.takeFrame(text, frame, cursor, this);
  }

  /** A record that was decoded elsewhere. */
  takeRecord(record: EventRecord): void {
    if (!this.#isBringing) return;
    this.#intake.takeRecord(record, this);
  }

  /** Bytes came that became no frame. */
  fault(message: string): void {
    this.#intake.addIssue("frame_refused", message);
  }

  /** Bytes stood where a frame would, will do so again, and are passed over: the state says that something is missing. */
  refuse(message: string): void {
    this.#intake.passOver();
    this.#intake.refuse(message);
  }

  /** Where the stream begins that now comes, for wires whose frames have no cursors. */
  begin(cursor: string): void {
    this.#intake.begin(cursor);
  }

  setRepairing(reason: StreamReason | undefined): void {
    if (this.#isBringing) this.#setPhase(reason === undefined ? OPEN : { kind: "repairing", reason });
  }

  /** Goes on with the frames that are held; the state stays `gap`. Where others bring frames, theirs are awaited. */
  giveUp(): void {
    if (![...this.#intake.sources].some((bringer) => bringer !== this && isBringing(bringer))) this.#intake.giveUp();
  }

  /** The server no longer has what came before this record. */
  skipTo(eventId: number): void {
    this.#intake.skipTo(eventId);
  }

  /** Forgets the session: the stream will come from its beginning. */
  restart(): void {
    this.#intake.restart();
  }

  /** Nothing more will come. */
  finish(): void {
    this.#leave({ kind: "ended" });
  }

  fail(reason: StreamReason): void {
    this.#leave({ kind: "failed", reason });
  }

  #leave(phase: Phase): void {
    if (!this.#isBringing) return;
    this.#setPhase(phase);
    if (![...this.#intake.sources].some(isBringing)) this.#intake.abandon(phase.kind === "ended");
    this.#intake.release(this);
  }

  get #isBringing(): boolean {
    return isBringing(this);
  }

  #setPhase(phase: Phase): void {
    this.#phase = phase;
    this.#intake.touch();
  }
}

/** More may come of him. */
export function isBringing({ phase: { kind } }: FrameSource): boolean {
  return kind === "open" || kind === "repairing";
}

export function parseObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
