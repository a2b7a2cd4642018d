/**
 * A source of frames handed in by the application: from a file, a pipe or a socket of another library. It detects the
 * dialect if none is given, and the session of each frame; one source may contain many sessions. Lost frames cannot be
 * requested again.
 */
import type { DialectName } from "../dialects/index.ts";
import type { Decoders, Decoding } from "../dialects/dialect.ts";
import { detectAmong, DETECTION_FRAMES } from "../dialects/detect.ts";
import type { FrameTraits } from "../dialects/frame-traits.ts";
import type { EventRecord, JsonObject } from "../protocol/index.ts";
import { BoundedMap } from "../protocol/bounded-map.ts";
import { parseObject } from "../protocol/json.ts";
import type { SessionFeed } from "./session-feed.ts";

/** Options of `Receiver.open`. */
export interface SourceOptions {
  /** Dialect of the frames. Default: detected from the first frames. */
  readonly dialect?: DialectName;
  /** Session of frames that do not name one. Default: `session`. */
  readonly session?: string;
  /**
   * Shows frames of a stream whose first frame has not arrived at once, in the default session. Default: false, they
   * wait for the first frame. @internal
   */
  readonly showsStrays?: boolean;
}

/** The part of the receiver that a source needs. */
export interface SourceHost {
  readonly decoders: Decoders;
  /** Throws `unsupported` when the receiver has no decoder for the dialect. */
  decodingOf(dialect: DialectName): Decoding;
  readonly maxSessions: number;
  readonly maxHeldFrames: number;
  readonly maxHeldCharacters: number;
  /** Returns undefined when the session is received in another dialect or the session limit is reached. */
  openFeed(session: string, dialect: DialectName, owner: Source): SessionFeed | undefined;
  hasSession(session: string): boolean;
  /** Session of each stream known from any source; the empty string when two sessions use the same stream key. */
  readonly streams: BoundedMap<string>;
}

interface PendingInput {
  /** The frame, or the fault message. */
  readonly text: string;
  readonly isFault: boolean;
  readonly frame: JsonObject | undefined;
  readonly cursor: string | undefined;
}

/** Maximum number of streams whose session is remembered. */
export const MAX_STREAMS = 10_000;

/** Dialect of records, and of frames whose dialect cannot be detected. */
const DEFAULT_DIALECT: DialectName = "loom";

/** Accepts frames or records from the application; see `Receiver.open`. */
export class Source {
  readonly #host: SourceHost;
  readonly #givenSession: string | undefined;
  readonly #feeds: BoundedMap<SessionFeed>;
  readonly #refused: BoundedMap<true>;
  readonly #streams = new BoundedMap<string>(MAX_STREAMS);
  #dialect: DialectName | undefined;
  /** Input that waits for dialect detection, and faults that wait for the first session. */
  #pending: PendingInput[] = [];
  /** Frames of streams whose first frame has not arrived yet. */
  #unrouted: PendingInput[] = [];
  #unroutedCharacters = 0;
  readonly #showsStrays: boolean;
  /** Streams whose frames are shown in the default session until their first frame arrives. */
  readonly #strayStreams = new BoundedMap<true>(MAX_STREAMS);
  #current: string | undefined;
  #isOver = false;

  /** @internal */
  constructor(host: SourceHost, { dialect, session, showsStrays = false }: SourceOptions) {
    this.#host = host;
    this.#showsStrays = showsStrays;
    this.#dialect = dialect;
    this.#givenSession = session;
    this.#feeds = new BoundedMap(host.maxSessions);
    this.#refused = new BoundedMap(host.maxSessions);
  }

  /** Session of the last frame. */
  get current(): string {
    return this.#current ?? this.#default;
  }

  get #default(): string {
    return this.#givenSession ?? "session";
  }

  /** Adds one whole frame, with the cursor to resume after it if there is one. */
  push(text: string, cursor?: string): void {
    this.#accept({ text, isFault: false, frame: parseObject(text), cursor });
  }

  /** Adds a record that was decoded elsewhere. Its number is its event ID. */
  pushRecord(record: EventRecord): void {
    if (this.#isOver) return;
    const session = record.envelope.session_id ?? this.#default;
    this.#current = session;
    this.#feedOf(session, DEFAULT_DIALECT)?.takeRecord(record);
  }

  /** Reports input that could not be read as a frame. */
  fault(message: string): void {
    this.#accept({ text: message, isFault: true, frame: undefined, cursor: undefined });
  }

  /** True while frames are held because earlier ones are missing. @internal */
  get isMissing(): boolean {
    return [...this.#feeds.values()].some(({ missing }) => missing !== undefined);
  }

  /** Continues with the held frames; the state of their sessions stays `gap`. @internal */
  giveUp(): void {
    for (const feed of this.#feeds.values()) feed.giveUp();
  }

  /** Ends the source. Runs that have not ended are then shown as cut off. */
  end(): void {
    if (this.#isOver) return;
    this.#detectDialect();
    const dialect = this.#dialect ?? DEFAULT_DIALECT;
    // With a single session the remaining streams must belong to it; with several the owner is unknown.
    const session = this.#feeds.size > 1 ? this.#default : this.current;
    for (const stray of this.#unrouted.splice(0)) this.#deliver(stray, session, dialect);
    // Opening the session makes an empty stream show up as `truncated`.
    if (this.#feeds.size === 0) this.#feedOf(session, dialect);
    this.#isOver = true;
    for (const feed of this.#feeds.values()) feed.finish();
  }

  #accept(input: PendingInput): void {
    if (this.#isOver) return;
    const dialect = this.#dialect;
    if (dialect !== undefined && (input.frame !== undefined || this.#current !== undefined)) {
      this.#route(input, dialect);
      return;
    }
    this.#pending.push(input);
    const { frame } = input;
    const decodings = Object.values(this.#host.decoders);
    const sure = frame === undefined ? 0 : decodings.filter((decoding) => decoding.confidence(frame) === 2).length;
    if (sure === 1 || this.#pending.length >= DETECTION_FRAMES) this.#detectDialect();
  }

  /** Detects the dialect and routes the pending input: frames first, so that faults have a session to belong to. */
  #detectDialect(): void {
    const pending = this.#pending.splice(0);
    if (pending.length === 0) return;
    const frames = pending.flatMap(({ frame }) => (frame === undefined ? [] : [frame]));
    const dialect = (this.#dialect ??= detectAmong(frames, this.#host.decoders) ?? DEFAULT_DIALECT);
    const { endText } = this.#host.decodingOf(dialect).traits;
    const isNoise = ({ frame, text }: PendingInput): boolean => frame === undefined && text.trim() !== endText;
    pending.sort((a, b) => Number(isNoise(a)) - Number(isNoise(b)));
    for (const each of pending) this.#route(each, dialect);
  }

  #route(input: PendingInput, dialect: DialectName): void {
    const { traits } = this.#host.decodingOf(dialect);
    const { text, frame } = input;
    const session = frame === undefined ? this.current : this.#sessionOf(frame, traits);
    if (session === undefined) {
      this.#unroutedCharacters += text.length;
      const { maxHeldFrames, maxHeldCharacters } = this.#host;
      const hasRoom = this.#unrouted.length < maxHeldFrames && this.#unroutedCharacters <= maxHeldCharacters;
      if (hasRoom) this.#unrouted.push(input);
      else if (!this.#showsStrays) this.fault("Too many frames of unknown streams");
      if (this.#showsStrays) this.#showStray(input, traits.streams?.readKey(frame as JsonObject) ?? "", dialect);
      return;
    }
    this.#current = session;
    this.#deliver(input, session, dialect);
    if (this.#unrouted.length > 0 && frame !== undefined && traits.streams?.isStart(frame)) {
      this.#unroutedCharacters = 0;
      for (const each of this.#unrouted.splice(0)) this.#route(each, dialect);
    }
  }

  /** Shows a frame in the default session. If the first frame of its stream arrives, its session gets all of them. */
  #showStray(input: PendingInput, key: string, dialect: DialectName): void {
    this.#current = this.#default;
    this.#deliver(input, this.#default, dialect);
    if (this.#strayStreams.get(key) === true) return;
    this.#strayStreams.set(key, true);
    this.#feeds.get(this.#default)?.giveUp();
  }

  #deliver({ text, isFault, frame, cursor }: PendingInput, session: string, dialect: DialectName): void {
    const feed = this.#feedOf(session, dialect);
    if (isFault) feed?.fault(text);
    else feed?.takeParsed(text, frame, cursor);
  }

  /** Returns undefined for a frame of a stream whose session is not known yet. */
  #sessionOf(frame: JsonObject, traits: FrameTraits): string | undefined {
    const named = traits.readSession(frame, this.#current === undefined);
    if (traits.unnamed === "default") return named ?? this.#default;
    const key = traits.streams?.readKey(frame) ?? "";
    if (key === "") return named ?? this.current;
    const { streams } = this.#host;
    if (named !== undefined) {
      this.#streams.set(key, named);
      const known = streams.get(key);
      streams.set(key, known === undefined || known === named ? named : "");
      return named;
    }
    const known = this.#streams.get(key) ?? streams.get(key);
    return known === "" || known === undefined ? this.#givenSession : known;
  }

  #feedOf(session: string, dialect: DialectName): SessionFeed | undefined {
    const known = this.#feeds.get(session);
    if (known !== undefined && !known.isDropped) return known;
    // A refused session is retried once there is room for it.
    if (this.#refused.get(session) === true && this.#host.hasSession(session)) return undefined;
    const feed = this.#host.openFeed(session, dialect, this);
    if (feed !== undefined) this.#feeds.set(session, feed);
    else this.#refused.set(session, true);
    return feed;
  }
}
