/**
 * The receiver: one store for everything that is watched. Frames or records go in, by any number of sources and
 * connections; the view comes out, with how far it can be vouched for.
 *
 * Invariant: whatever one source brings, the other sessions are unharmed.
 */
import { DECODERS, type Decoding, type DialectName, LOOM_DECODING } from "../dialects/index.ts";
import { BoundedMap, LoomError } from "../protocol/index.ts";
import { Intake } from "./intake/intake.ts";
import { RECEIVER_LIMITS, type ReceiverLimits } from "./limits.ts";
import { type Listener, Notifier, type NotifyMode } from "./notifier.ts";
import { type AMBIGUOUS, MAX_REQUESTS, Source, type SourceOptions } from "./source.ts";
import { isBringing, Track } from "./track.ts";
import type { ReceiverView, SessionView, StreamReason } from "./view.ts";

export interface ReceiverOptions {
  readonly limits?: Partial<ReceiverLimits>;
  /** When listeners are told: once per frame of the screen unless said otherwise. */
  readonly notify?: NotifyMode;
}

/** What a framework needs to show something that changes. */
export interface Store<T> {
  subscribe(listener: Listener): () => void;
  getSnapshot(): T;
}

/** What a receiver can read. */
export type Decoders = { readonly [N in DialectName]?: Decoding };

/** A receiver of any dialect. */
export function createReceiver(options: ReceiverOptions = {}): Receiver {
  return new Receiver(DECODERS, options);
}

/** A receiver of `loom` alone, our own wire: a page that needs no other carries no other. */
export function createLoomReceiver(options: ReceiverOptions = {}): Receiver {
  return new Receiver({ loom: LOOM_DECODING }, options);
}

export class Receiver implements Store<ReceiverView> {
  readonly #decoders: Decoders;
  readonly #limits: ReceiverLimits;
  readonly #notifier: Notifier;
  readonly #intakes = new Map<string, Intake>();
  readonly #requests = new BoundedMap<string | typeof AMBIGUOUS>(MAX_REQUESTS);
  readonly #listeners: Subscriptions = new Set();
  readonly #sessionListeners = new Map<string, Subscriptions>();
  /** Sessions that may have changed since the view was made. */
  readonly #stale = new Set<Intake>();
  /** Sessions that did, and whose listeners do not know yet. */
  readonly #untold = new Set<string>();
  #told: ReceiverView | undefined;
  #touched: Intake | undefined;
  readonly #views = new Map<string, SessionView>();
  #view: ReceiverView = { sessions: [], earlierSessions: 0 };
  #earlierSessions = 0;
  #isListChanged = false;

  constructor(decoders: Decoders, { limits = {}, notify = "frame" }: ReceiverOptions = {}) {
    this.#decoders = decoders;
    this.#limits = { ...RECEIVER_LIMITS, ...limits };
    this.#notifier = new Notifier(notify, () => this.#tell());
  }

  /** A way in for frames or records that somebody has. */
  open(options: SourceOptions = {}): Source {
    if (options.dialect !== undefined) this.#decodingOf(options.dialect);
    return new Source(
      {
        ...this.#limits,
        decoders: this.#decoders,
        requests: this.#requests,
        isReceived: (session) => this.#intakes.has(session),
        track: (session, dialect, owner) => this.#track(session, dialect, owner),
      },
      options,
    );
  }

  /** A way in for a connection; undefined where the session is received in another dialect. */
  track({ session, dialect }: { readonly session: string; readonly dialect: DialectName }): Track | undefined {
    return this.#track(session, dialect);
  }

  /** Everything as it stands. While listeners wait to be told, as it stood when they last were. */
  getSnapshot(): ReceiverView {
    if (!this.#isWatched || !this.#notifier.isScheduled) this.#refresh();
    return this.#view;
  }

  subscribe(listener: Listener): () => void {
    return subscribe(this.#listeners, listener);
  }

  /** One session as a store of its own: its listeners are told of its changes alone. */
  session(id: string): Store<SessionView | undefined> {
    return {
      subscribe: (listener) => {
        const listeners: Subscriptions = this.#sessionListeners.get(id) ?? new Set();
        this.#sessionListeners.set(id, listeners);
        const unsubscribe = subscribe(listeners, listener);
        return () => {
          unsubscribe();
          if (listeners.size === 0 && this.#sessionListeners.get(id) === listeners) this.#sessionListeners.delete(id);
        };
      },
      getSnapshot: () => {
        this.getSnapshot();
        return this.#views.get(id);
      },
    };
  }

  /** Forgets a session. */
  drop(id: string): void {
    const intake = this.#intakes.get(id);
    if (intake !== undefined) this.#forget(intake, { code: "session_closed", message: "it is no longer received" });
  }

  /** Whoever still brings frames of it is told by the state. */
  #forget(intake: Intake, reason: StreamReason): void {
    intake.drop(reason);
    this.#intakes.delete(intake.sessionId);
    this.#isListChanged = true;
    this.#touch(intake);
  }

  /** Tells listeners now of what they have not been told. */
  flush(): void {
    this.#notifier.flush();
  }

  get #isWatched(): boolean {
    return this.#listeners.size + this.#sessionListeners.size > 0;
  }

  /** To ask for what cannot be read is an error of the program, so it throws. */
  #decodingOf(dialect: DialectName): Decoding {
    const decoding = this.#decoders[dialect];
    if (decoding !== undefined) return decoding;
    const names = Object.keys(this.#decoders).join(", ");
    throw new LoomError("unsupported", `this receiver reads ${names}, not ${dialect}`);
  }

  #track(session: string, dialect: DialectName, owner?: Source): Track | undefined {
    let intake = this.#intakes.get(session);
    const decoding = this.#decodingOf(dialect);
    if (intake === undefined) {
      if (!this.#makeRoom(owner)) return undefined;
      intake = new Intake(session, dialect, decoding, this.#limits, (changed) => this.#touch(changed));
      this.#intakes.set(session, intake);
      this.#isListChanged = true;
    } else if (intake.dialect !== dialect) {
      intake.addIssue("dialect_mismatch", `it is received in ${intake.dialect}, and was sent in ${dialect} too`);
      return undefined;
    }
    return new Track(intake, owner);
  }

  /**
   * The session heard of first that nobody brings any more and that has no live run goes. A source that brings too many
   * loses its own first ones, never those of others; a connection, which somebody asked for, may take the place of any.
   */
  #makeRoom(owner: Source | undefined): boolean {
    if (this.#intakes.size < this.#limits.maxSessions) return true;
    const all = [...this.#intakes.values()];
    const own = all.filter(
      ({ sources: bringers }) => owner === undefined || [...bringers].every((each) => each.owner === owner),
    );
    const found =
      all.find((intake) => !intake.hasLiveRun && ![...intake.sources].some(isBringing)) ??
      own.find((intake) => !intake.hasLiveRun) ??
      own[0];
    this.#earlierSessions++;
    this.#isListChanged = true;
    if (found === undefined) return false;
    this.#forget(found, { code: "too_many_sessions", message: "it had to make room for another session" });
    return true;
  }

  #touch(intake: Intake): void {
    const isWatched = this.#isWatched;
    // Changes come in long rows of one session: what was noted need not be noted again.
    if (intake === this.#touched && (!isWatched || this.#notifier.isScheduled)) return;
    this.#touched = intake;
    this.#stale.add(intake);
    if (isWatched) this.#notifier.schedule();
  }

  /** Makes the view anew as far as it changed. */
  #refresh(): void {
    if (this.#stale.size === 0 && !this.#isListChanged) return;
    let isChanged = this.#isListChanged;
    for (const intake of this.#stale) {
      const { sessionId } = intake;
      if (this.#intakes.get(sessionId) !== intake) {
        if (!this.#intakes.has(sessionId)) this.#views.delete(sessionId);
        if (this.#sessionListeners.has(sessionId)) this.#untold.add(sessionId);
        continue;
      }
      const view = intake.snapshot();
      if (view === this.#views.get(sessionId)) continue;
      isChanged = true;
      if (this.#sessionListeners.has(sessionId)) this.#untold.add(sessionId);
      this.#views.set(sessionId, view);
    }
    this.#stale.clear();
    this.#touched = undefined;
    this.#isListChanged = false;
    // The views are in the order of the sessions: a session that is dropped goes, a new one comes last.
    if (isChanged) this.#view = { sessions: [...this.#views.values()], earlierSessions: this.#earlierSessions };
  }

  #tell(): void {
    this.#refresh();
    this.#touched = undefined;
    const told = [...this.#untold];
    this.#untold.clear();
    for (const sessionId of told) callAll(this.#sessionListeners.get(sessionId));
    if (this.#view === this.#told) return;
    this.#told = this.#view;
    callAll(this.#listeners);
  }
}

/** Each subscription by itself: one function may be subscribed twice. */
type Subscriptions = Set<{ readonly listener: Listener }>;

function subscribe(subscriptions: Subscriptions, listener: Listener): () => void {
  const subscription = { listener };
  subscriptions.add(subscription);
  return () => {
    subscriptions.delete(subscription);
  };
}

/** Those who listen now: one who comes while they are told knows already, one who goes is not told. */
function callAll(subscriptions: Subscriptions | undefined): void {
  for (const subscription of Array.from(subscriptions ?? []))
    if (subscriptions?.has(subscription) === true) callSafely(subscription.listener);
}

/** A listener that throws must not keep others from being told. */
function callSafely(listener: Listener): void {
  try {
    listener();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}
