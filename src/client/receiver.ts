/**
 * The receiver: one store for all received sessions. Sources and connections feed frames or records into it; it
 * produces the view, together with how reliable that view is.
 *
 * Invariant: faulty input from one source does not affect other sessions.
 */
import type { DialectName } from "../dialects/index.ts";
import { DECODERS } from "../dialects/decoders.ts";
import type { Decoders, Decoding } from "../dialects/dialect.ts";
import { LOOM_DECODING } from "../dialects/loom/decode.ts";
import { LoomError } from "../protocol/index.ts";
import { BoundedMap } from "../protocol/bounded-map.ts";
import { SessionIntake } from "./intake/session-intake.ts";
import { RECEIVER_LIMITS, type ReceiverLimits } from "./limits.ts";
import { type ChangeListener, Notifier, type NotifyMode } from "./notifier.ts";
import { MAX_STREAMS, Source, type SourceOptions } from "./source.ts";
import { isActive, SessionFeed } from "./session-feed.ts";
import type { ReceiverView, SessionView, StreamReason } from "./view.ts";

/** Options of `createReceiver` and `createLoomReceiver`. */
export interface ReceiverOptions {
  /** Replaces single limits. Default: `RECEIVER_LIMITS`. */
  readonly limits?: Partial<ReceiverLimits>;
  /** When listeners are notified. Default: `frame`, once per animation frame. */
  readonly notify?: NotifyMode;
  /**
   * Keeps the frames of a session, within `maxHeldFrames` and `maxHeldCharacters`, so that a frame that was given up can
   * still be put in its place. Default: false. @internal
   */
  readonly keepsFrames?: boolean;
}

/** A readable value with change notification, compatible with React's `useSyncExternalStore`. */
export interface ReadableStore<T> {
  subscribe(listener: ChangeListener): () => void;
  getSnapshot(): T;
}

/**
 * Creates a receiver that reads every dialect.
 *
 * ```ts
 * const receiver = createReceiver();
 * const transport = createFetchTransport({ url: "http://127.0.0.1:10338" });
 * const connection = connect(receiver, { transport, session: "my-session" });
 * receiver.subscribe(() => render(receiver.getSnapshot()));
 * await connection.run({ message: "Hello" });
 * ```
 */
export function createReceiver(options: ReceiverOptions = {}): Receiver {
  return new Receiver(DECODERS, options);
}

/** Creates a receiver that reads only the `loom` dialect, for smaller bundles. Other dialects throw `unsupported`. */
export function createLoomReceiver(options: ReceiverOptions = {}): Receiver {
  return new Receiver({ loom: LOOM_DECODING }, options);
}

/**
 * Holds all received sessions and their view; see `createReceiver`. It is a store: `subscribe` to changes and read the
 * view with `getSnapshot`.
 */
export class Receiver implements ReadableStore<ReceiverView> {
  readonly #decoders: Decoders;
  readonly #limits: ReceiverLimits;
  readonly #keepsFrames: boolean;
  readonly #notifier: Notifier;
  readonly #intakes = new Map<string, SessionIntake>();
  readonly #streams = new BoundedMap<string>(MAX_STREAMS);
  readonly #listeners: Subscriptions = new Set();
  readonly #sessionListeners = new Map<string, Subscriptions>();
  /** Sessions that may have changed since the view was last created. */
  readonly #stale = new Set<SessionIntake>();
  /** Sessions that changed and whose listeners have not been notified yet. */
  readonly #changedSessions = new Set<string>();
  #notifiedView: ReceiverView | undefined;
  #lastChanged: SessionIntake | undefined;
  readonly #views = new Map<string, SessionView>();
  #view: ReceiverView = { sessions: [], earlierSessions: 0 };
  #earlierSessions = 0;
  #isListChanged = false;

  /** @internal */
  constructor(decoders: Decoders, { limits = {}, notify = "frame", keepsFrames = false }: ReceiverOptions = {}) {
    this.#decoders = decoders;
    this.#keepsFrames = keepsFrames;
    this.#limits = { ...RECEIVER_LIMITS, ...limits };
    this.#notifier = new Notifier(notify, () => this.#notify());
  }

  /**
   * Opens a source, for frames or records that you already have, such as a file or your own socket. Throws
   * `unsupported` when the receiver has no decoder for the given dialect.
   */
  open(options: SourceOptions = {}): Source {
    if (options.dialect !== undefined) this.#decodingOf(options.dialect);
    return new Source(
      {
        ...this.#limits,
        decoders: this.#decoders,
        streams: this.#streams,
        decodingOf: (dialect) => this.#decodingOf(dialect),
        hasSession: (session) => this.#intakes.has(session),
        openFeed: (session, dialect, owner) => this.#openFeed(session, dialect, owner),
      },
      options,
    );
  }

  /** Opens a feed for a connection. Returns undefined when the session is already received in another dialect. */
  openFeed({ session, dialect }: { readonly session: string; readonly dialect: DialectName }): SessionFeed | undefined {
    return this.#openFeed(session, dialect);
  }

  /**
   * Returns the current view. While a notification is pending, returns the view of the last notification, so that all
   * listeners see the same state.
   */
  getSnapshot(): ReceiverView {
    if (!this.#hasListeners || !this.#notifier.isScheduled) this.#refresh();
    return this.#view;
  }

  /** Calls `listener` after changes. Returns a function that unsubscribes it. */
  subscribe(listener: ChangeListener): () => void {
    return subscribe(this.#listeners, listener);
  }

  /** Returns a store for one session. Its listeners are only notified when that session changes. */
  session(id: string): ReadableStore<SessionView | undefined> {
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

  /** The view of a session as it is now, also while a notification is pending. @internal */
  peek(id: string): SessionView | undefined {
    this.#refresh();
    return this.#views.get(id);
  }

  /** Removes a session from the view. The state of its connections becomes `failed`, with the code `session_closed`. */
  drop(id: string): void {
    const intake = this.#intakes.get(id);
    if (intake !== undefined) this.#forget(intake, { code: "session_closed", message: "The session was dropped" });
  }

  #forget(intake: SessionIntake, reason: StreamReason): void {
    intake.drop(reason);
    this.#intakes.delete(intake.sessionId);
    this.#isListChanged = true;
    this.#markChanged(intake);
  }

  /** Notifies listeners of pending changes now. */
  flush(): void {
    this.#notifier.flush();
  }

  get #hasListeners(): boolean {
    return this.#listeners.size + this.#sessionListeners.size > 0;
  }

  /** An unsupported dialect is a programming error, so this throws. */
  #decodingOf(dialect: DialectName): Decoding {
    const decoding = this.#decoders[dialect];
    if (decoding !== undefined) return decoding;
    const names = Object.keys(this.#decoders).join(", ");
    throw new LoomError("unsupported", `This receiver reads ${names}, not ${dialect}`);
  }

  #openFeed(session: string, dialect: DialectName, owner?: Source): SessionFeed | undefined {
    let intake = this.#intakes.get(session);
    const decoding = this.#decodingOf(dialect);
    if (intake === undefined) {
      if (!this.#makeRoom(owner)) return undefined;
      const onChange = (changed: SessionIntake): void => this.#markChanged(changed);
      const keepsFrames = this.#keepsFrames;
      intake = new SessionIntake(session, dialect, decoding, this.#limits, onChange, { keepsFrames });
      this.#intakes.set(session, intake);
      this.#isListChanged = true;
    } else if (intake.dialect !== dialect) {
      intake.addIssue("dialect_mismatch", `already received in ${intake.dialect}; frames in ${dialect} are ignored`);
      return undefined;
    }
    return new SessionFeed(intake, owner);
  }

  /**
   * Removes a session when the limit is reached: first the oldest one without a live run and without an active source.
   * A source may otherwise only displace its own sessions; a connection may displace any session.
   */
  #makeRoom(owner: Source | undefined): boolean {
    if (this.#intakes.size < this.#limits.maxSessions) return true;
    const all = [...this.#intakes.values()];
    const own = all.filter(({ sources }) => owner === undefined || [...sources].every((each) => each.owner === owner));
    const found =
      all.find((intake) => !intake.hasLiveRun && ![...intake.sources].some(isActive)) ??
      own.find((intake) => !intake.hasLiveRun) ??
      own[0];
    this.#earlierSessions++;
    this.#isListChanged = true;
    if (found === undefined) return false;
    this.#forget(found, {
      code: "too_many_sessions",
      message: "Removed for a newer session; maxSessions was reached",
    });
    return true;
  }

  #markChanged(intake: SessionIntake): void {
    const isWatched = this.#hasListeners;
    // Most changes come in a row from one session, so skip the bookkeeping for repeats.
    if (intake === this.#lastChanged && (!isWatched || this.#notifier.isScheduled)) return;
    this.#lastChanged = intake;
    this.#stale.add(intake);
    if (isWatched) this.#notifier.schedule();
  }

  /** Updates the view for the sessions that changed. */
  #refresh(): void {
    if (this.#stale.size === 0 && !this.#isListChanged) return;
    let isChanged = this.#isListChanged;
    for (const intake of this.#stale) {
      const { sessionId } = intake;
      if (this.#intakes.get(sessionId) !== intake) {
        if (!this.#intakes.has(sessionId)) this.#views.delete(sessionId);
        if (this.#sessionListeners.has(sessionId)) this.#changedSessions.add(sessionId);
        continue;
      }
      const view = intake.snapshot();
      if (view === this.#views.get(sessionId)) continue;
      isChanged = true;
      if (this.#sessionListeners.has(sessionId)) this.#changedSessions.add(sessionId);
      this.#views.set(sessionId, view);
    }
    this.#stale.clear();
    this.#lastChanged = undefined;
    this.#isListChanged = false;
    // Map order is session order: dropped sessions are deleted, new ones are appended.
    if (isChanged) this.#view = { sessions: [...this.#views.values()], earlierSessions: this.#earlierSessions };
  }

  #notify(): void {
    this.#refresh();
    this.#lastChanged = undefined;
    const changed = [...this.#changedSessions];
    this.#changedSessions.clear();
    for (const sessionId of changed) callAll(this.#sessionListeners.get(sessionId));
    if (this.#view === this.#notifiedView) return;
    this.#notifiedView = this.#view;
    callAll(this.#listeners);
  }
}

/** One object per subscription, because the same function may be subscribed twice. */
type Subscriptions = Set<{ readonly listener: ChangeListener }>;

function subscribe(subscriptions: Subscriptions, listener: ChangeListener): () => void {
  const subscription = { listener };
  subscriptions.add(subscription);
  return () => {
    subscriptions.delete(subscription);
  };
}

/** Calls the listeners subscribed at this moment, except those removed during the calls. */
function callAll(subscriptions: Subscriptions | undefined): void {
  for (const subscription of Array.from(subscriptions ?? []))
    if (subscriptions?.has(subscription) === true) callSafely(subscription.listener);
}

/** An exception in one listener is reported asynchronously, so that the others still run. */
function callSafely(listener: ChangeListener): void {
  try {
    listener();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}
