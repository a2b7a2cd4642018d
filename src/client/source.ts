/**
 * A source of frames handed in by the application: from a file, a pipe or a socket of another library. It detects the
 * dialect if none is given, and the session of each frame; one source may contain many sessions. Lost frames cannot be
 * requested again.
 */
import { type Decoding, detectAmong, DETECTION_FRAMES, type DialectName } from "../dialects/index.ts";
import { BoundedMap, type EventRecord, type JsonObject } from "../protocol/index.ts";
import { readSessionId, readStreamKey } from "./intake/number-frame.ts";
import type { Decoders } from "./receiver.ts";
import { parseObject, type SessionFeed } from "./session-feed.ts";

/** Options of `Receiver.open`. */
export interface SourceOptions {
  /** Dialect of the frames. Default: detected from the first frames. */
  readonly dialect?: DialectName;
  /** Session of frames that do not name one. Default: `session`. */
  readonly session?: string;
}

/** The part of the receiver that a source needs. */
export interface SourceHost {
  readonly decoders: Decoders;
  readonly maxSessions: number;
  readonly maxHeldFrames: number;
  readonly maxHeldCharacters: number;
  /** Returns undefined when the session is received in another dialect or the session limit is reached. */
  openFeed(session: string, dialect: DialectName, owner: Source): SessionFeed | undefined;
  hasSession(session: string): boolean;
  /** Session of each `engine` request known from any source; `AMBIGUOUS` when two sessions use the same request ID. */
  readonly requests: BoundedMap<string | typeof AMBIGUOUS>;
}

export const AMBIGUOUS = Symbol("request ID used by two sessions");

interface PendingInput {
  /** The frame, or the fault message. */
  readonly text: string;
  readonly isFault: boolean;
  readonly frame: JsonObject | undefined;
  readonly cursor: string | undefined;
}

/** Maximum number of `engine` requests that are remembered. */
export const MAX_REQUESTS = 10_000;

/** Accepts frames or records from the application; see `Receiver.open`. */
export class Source {
  readonly #host: SourceHost;
  readonly #givenSession: string | undefined;
  readonly #feeds: BoundedMap<SessionFeed>;
  readonly #refused: BoundedMap<true>;
  readonly #requests = new BoundedMap<string>(MAX_REQUESTS);
  #dialect: DialectName | undefined;
  /** Input that waits for dialect detection, and faults that wait for the first session. */
  #pending: PendingInput[] = [];
  /** Frames of `engine` requests whose session_start has not arrived yet. */
  #unrouted: PendingInput[] = [];
  #unroutedCharacters = 0;
  #current: string | undefined;
  #isOver = false;

  constructor(host: SourceHost, { dialect, session }: SourceOptions) {
    this.#host = host;
    this.#dialect = dialect;
    this.#givenSession = session;
    this.#feeds = new BoundedMap(host.maxSessions);
    this.#refused = new BoundedMap(host.maxSessions);
  }

  /** `loom` allows any extra field, so it goes last and loses ties. */
  get #decodings(): readonly [DialectName, Decoding][] {
    const list = Object.entries(this.#host.decoders) as [DialectName, Decoding][];
    return list.sort(([a], [b]) => Number(a === "loom") - Number(b === "loom"));
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

  /** Adds a record that was decoded elsewhere. Its number is treated as in `loom`. */
  pushRecord(record: EventRecord): void {
    if (this.#isOver) return;
    const session = record.envelope.session_id ?? this.#default;
    this.#current = session;
    this.#feedOf(session, "loom")?.takeRecord(record);
  }

  /** Reports input that could not be read as a frame. */
  fault(message: string): void {
    this.#accept({ text: message, isFault: true, frame: undefined, cursor: undefined });
  }

  /** Ends the source. Runs that have not ended are then shown as cut off. */
  end(): void {
    if (this.#isOver) return;
    this.#detectDialect();
    const dialect = this.#dialect ?? "loom";
    // With a single session the remaining requests must belong to it; with several the owner is unknown.
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
    const sure =
      frame === undefined ? 0 : this.#decodings.filter(([, decoding]) => decoding.confidence(frame) === 2).length;
    if (sure === 1 || this.#pending.length >= DETECTION_FRAMES) this.#detectDialect();
  }

  /** Detects the dialect and routes the pending input: frames first, so that faults have a session to belong to. */
  #detectDialect(): void {
    const pending = this.#pending.splice(0);
    if (pending.length === 0) return;
    const frames = pending.filter(({ isFault }) => !isFault);
    this.#dialect ??=
      detectAmong(
        frames.map(({ text, frame }) => frame ?? text),
        this.#decodings,
      ) ?? "loom";
    const isNoise = ({ frame, text }: PendingInput): boolean => frame === undefined && text.trim() !== "[DONE]";
    for (const each of pending) if (!isNoise(each)) this.#route(each, this.#dialect);
    for (const each of pending) if (isNoise(each)) this.#route(each, this.#dialect);
  }

  #route(input: PendingInput, dialect: DialectName): void {
    const { text, frame } = input;
    const session = frame === undefined ? this.current : this.#sessionOf(frame, dialect);
    if (session === undefined) {
      this.#unroutedCharacters += text.length;
      const { maxHeldFrames, maxHeldCharacters } = this.#host;
      if (this.#unrouted.length < maxHeldFrames && this.#unroutedCharacters <= maxHeldCharacters)
        this.#unrouted.push(input);
      else this.fault("Too many frames of requests without a session_start");
      return;
    }
    this.#current = session;
    this.#deliver(input, session, dialect);
    if (frame?.["type"] === "session_start" && this.#unrouted.length > 0) {
      this.#unroutedCharacters = 0;
      for (const each of this.#unrouted.splice(0)) this.#route(each, dialect);
    }
  }

  #deliver({ text, isFault, frame, cursor }: PendingInput, session: string, dialect: DialectName): void {
    const feed = this.#feedOf(session, dialect);
    if (isFault) feed?.fault(text);
    else feed?.takeParsed(text, frame, cursor);
  }

  #sessionOf(frame: JsonObject, dialect: DialectName): string | undefined {
    const named = readSessionId(dialect, frame);
    if (dialect === "loom") return named ?? this.#default;
    // A 004 stream without the session_id greeting; its other frames carry the session too.
    if (dialect === "lumine" && named === undefined && this.#current === undefined)
      return readSessionField(frame) ?? this.#default;
    const request = dialect === "engine" ? readStreamKey(dialect, frame) : "";
    if (request === "") return named ?? this.current;
    const { requests } = this.#host;
    if (named !== undefined) {
      this.#requests.set(request, named);
      const known = requests.get(request);
      requests.set(request, known === undefined || known === named ? named : AMBIGUOUS);
      return named;
    }
    const known = this.#requests.get(request) ?? requests.get(request);
    return known === AMBIGUOUS || known === undefined ? this.#givenSession : known;
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

function readSessionField({ session_id }: JsonObject): string | undefined {
  return typeof session_id === "string" && session_id !== "" ? session_id : undefined;
}
