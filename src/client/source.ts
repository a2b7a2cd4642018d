/**
 * Frames handed in by whoever has them: a file, a pipe, somebody else's socket. Finds the dialect where it is not told,
 * and the session of each frame; a source may bring many. Nothing more can be asked of it, so what it lost stays lost.
 */
import { type Decoding, detectAmong, DETECTION_FRAMES, type DialectName } from "../dialects/index.ts";
import { BoundedMap, type EventRecord, type JsonObject } from "../protocol/index.ts";
import { sessionOf, streamOf } from "./intake/number-frame.ts";
import type { Decoders } from "./receiver.ts";
import { parseObject, type Track } from "./track.ts";

export interface SourceOptions {
  /** Found from the first frames when absent. */
  readonly dialect?: DialectName;
  /** The session of frames that name none. */
  readonly session?: string;
}

/** What a source needs of its receiver. */
export interface SourceHost {
  readonly decoders: Decoders;
  readonly maxSessions: number;
  readonly maxHeldFrames: number;
  readonly maxHeldCharacters: number;
  /** Undefined where the session is received in another dialect, or there is no room for it. */
  track(session: string, dialect: DialectName, owner: Source): Track | undefined;
  isReceived(session: string): boolean;
  /** Which session a request of `engine` belongs to, as far as other sources know; `AMBIGUOUS` where they differ. */
  readonly requests: BoundedMap<string | typeof AMBIGUOUS>;
}

export const AMBIGUOUS = Symbol("two sessions have a request of this name");

interface Waiting {
  /** A frame, or why there is none. */
  readonly text: string;
  readonly isFault: boolean;
  readonly frame: JsonObject | undefined;
  readonly cursor: string | undefined;
}

/** Requests of `engine` that are remembered. */
export const MAX_REQUESTS = 10_000;

export class Source {
  readonly #host: SourceHost;
  /** The session of frames that name none, where it was given. */
  readonly #given: string | undefined;
  readonly #tracks: BoundedMap<Track>;
  readonly #refused: BoundedMap<true>;
  readonly #requests = new BoundedMap<string>(MAX_REQUESTS);
  #dialect: DialectName | undefined;
  /** What waits until the dialect is known, and faults until a session is. */
  #waiting: Waiting[] = [];
  /** Frames of `engine` whose request nobody has heard of: their session_start may still come. */
  #lobby: Waiting[] = [];
  #lobbyCharacters = 0;
  #current: string | undefined;
  #isOver = false;

  constructor(host: SourceHost, { dialect, session }: SourceOptions) {
    this.#host = host;
    this.#dialect = dialect;
    this.#given = session;
    this.#tracks = new BoundedMap(host.maxSessions);
    this.#refused = new BoundedMap(host.maxSessions);
  }

  /** At a tie `loom`, which allows any further field, stands back. */
  get #decodings(): readonly [DialectName, Decoding][] {
    const list = Object.entries(this.#host.decoders) as [DialectName, Decoding][];
    return list.sort(([a], [b]) => Number(a === "loom") - Number(b === "loom"));
  }

  /** The session the last frame was of. */
  get current(): string {
    return this.#current ?? this.#default;
  }

  get #default(): string {
    return this.#given ?? "session";
  }

  /** One whole frame, and the cursor to go on after it where the wire has one. */
  push(text: string, cursor?: string): void {
    this.#take({ text, isFault: false, frame: parseObject(text), cursor });
  }

  /** A record that was decoded elsewhere. Its number counts as in `loom`. */
  pushRecord(record: EventRecord): void {
    if (this.#isOver) return;
    const session = record.envelope.session_id ?? this.#default;
    this.#current = session;
    this.#trackOf(session, "loom")?.takeRecord(record);
  }

  /** Bytes came that became no frame. */
  fault(message: string): void {
    this.#take({ text: message, isFault: true, frame: undefined, cursor: undefined });
  }

  /** Nothing more will come. */
  end(): void {
    if (this.#isOver) return;
    this.#settle();
    const dialect = this.#dialect ?? "loom";
    // Of one session it can be said whose requests these must be; among many nobody knows.
    const session = this.#tracks.size > 1 ? this.#default : this.current;
    for (const stray of this.#lobby.splice(0)) this.#deliver(stray, session, dialect);
    // An empty stream is a cut one.
    if (this.#tracks.size === 0) this.#trackOf(session, dialect);
    this.#isOver = true;
    for (const track of this.#tracks.values()) track.finish();
  }

  #take(waiting: Waiting): void {
    if (this.#isOver) return;
    const dialect = this.#dialect;
    if (dialect !== undefined && (waiting.frame !== undefined || this.#current !== undefined)) {
      this.#route(waiting, dialect);
      return;
    }
    this.#waiting.push(waiting);
    const { frame } = waiting;
    const sure = frame === undefined ? 0 : this.#decodings.filter(([, decoding]) => decoding.claim(frame) === 2).length;
    if (sure === 1 || this.#waiting.length >= DETECTION_FRAMES) this.#settle();
  }

  /** Finds the dialect, and takes what waited for it: frames first, so that faults have a session to belong to. */
  #settle(): void {
    const waiting = this.#waiting.splice(0);
    if (waiting.length === 0) return;
    const frames = waiting.filter(({ isFault }) => !isFault);
    this.#dialect ??=
      detectAmong(
        frames.map(({ text, frame }) => frame ?? text),
        this.#decodings,
      ) ?? "loom";
    const isNoise = ({ frame, text }: Waiting): boolean => frame === undefined && text.trim() !== "[DONE]";
    for (const each of waiting) if (!isNoise(each)) this.#route(each, this.#dialect);
    for (const each of waiting) if (isNoise(each)) this.#route(each, this.#dialect);
  }

  #route(waiting: Waiting, dialect: DialectName): void {
    const { text, frame } = waiting;
    const session = frame === undefined ? this.current : this.#sessionOf(frame, dialect);
    if (session === undefined) {
      this.#lobbyCharacters += text.length;
      const { maxHeldFrames, maxHeldCharacters } = this.#host;
      if (this.#lobby.length < maxHeldFrames && this.#lobbyCharacters <= maxHeldCharacters) this.#lobby.push(waiting);
      else this.fault("too many frames of requests that have not begun");
      return;
    }
    this.#current = session;
    this.#deliver(waiting, session, dialect);
    if (frame?.["type"] === "session_start" && this.#lobby.length > 0) {
      this.#lobbyCharacters = 0;
      for (const each of this.#lobby.splice(0)) this.#route(each, dialect);
    }
  }

  #deliver({ text, isFault, frame, cursor }: Waiting, session: string, dialect: DialectName): void {
    const track = this.#trackOf(session, dialect);
    if (isFault) track?.fault(text);
    else track?.takeParsed(text, frame, cursor);
  }

  #sessionOf(frame: JsonObject, dialect: DialectName): string | undefined {
    const named = sessionOf(dialect, frame);
    if (dialect === "loom") return named ?? this.#default;
    // A stream of 004 that was not greeted: its frames say the session too.
    if (dialect === "lumine" && named === undefined && this.#current === undefined)
      return namedBy(frame) ?? this.#default;
    const request = dialect === "engine" ? streamOf(dialect, frame) : "";
    if (request === "") return named ?? this.current;
    const { requests } = this.#host;
    if (named !== undefined) {
      this.#requests.set(request, named);
      const known = requests.get(request);
      requests.set(request, known === undefined || known === named ? named : AMBIGUOUS);
      return named;
    }
    const known = this.#requests.get(request) ?? requests.get(request);
    return known === AMBIGUOUS || known === undefined ? this.#given : known;
  }

  #trackOf(session: string, dialect: DialectName): Track | undefined {
    const known = this.#tracks.get(session);
    if (known !== undefined && !known.isDropped) return known;
    // One that was refused is asked for again when there is room.
    if (this.#refused.get(session) === true && this.#host.isReceived(session)) return undefined;
    const track = this.#host.track(session, dialect, this);
    if (track !== undefined) this.#tracks.set(session, track);
    else this.#refused.set(session, true);
    return track;
  }
}

function namedBy({ session_id }: JsonObject): string | undefined {
  return typeof session_id === "string" && session_id !== "" ? session_id : undefined;
}
