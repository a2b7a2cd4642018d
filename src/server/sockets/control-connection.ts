/**
 * The server's side of the control protocol for one client: many streams and commands over one pair of text pipes. It
 * knows no socket; whoever has one feeds it with `receive` and is given texts to send, and where they are the same for
 * many readers, bytes.
 *
 * Invariants:
 * - A frame that cannot be read, a stream that breaks and a command that is refused harm nothing else.
 * - A stream that finds no room is given nothing more: what is not sent yet is not read yet.
 * - Whoever asks and does not read is given so many answers, and then no connection any more.
 */
import type { StreamMeter } from "../../observe/index.ts";
import {
  CONTROL_VERSION,
  type ControlCommand,
  decodeUp,
  type DownFrame,
  encodeControl,
  isCommand,
  type PingControl,
  type SubscribeControl,
  type UnsubscribeControl,
} from "../../protocol/control/index.ts";
import { isLoomError, LoomError } from "../../protocol/index.ts";
import { awaitWritten, carryOut, type CommandHost, refuse } from "../commands/carry-out.ts";
import type { Action } from "../guard/authorize.ts";
import { SERVER_LIMITS } from "../server-limits.ts";
import { actionOf } from "../commands/action-of.ts";
import { createStreams } from "../streams/create-streams.ts";
import { meterRefusal, meterSlowReader } from "../streams/meter-stream.ts";
import type { Chunk } from "../streams/chunk.ts";
import type { Reader, ReaderEnd, Streams } from "../streams/reader.ts";
import { findFrameId } from "./find-frame-id.ts";

export interface ControlConnectionOptions extends CommandHost {
  /** Takes the text of one control frame. Where it throws, the connection closes itself. */
  readonly send: (text: string) => void;
  /** Takes whole messages of a WebSocket, made once for all readers; without it they come to `send` as texts. */
  readonly sendBytes?: (messages: Buffer) => void;
  /**
   * Resolves when there is room for more; streams wait for it before they begin, and after each batch unless `hasRoom`
   * says that they need not. Where it rejects, the connection closes itself: with `backlog_full`, for a client that reads
   * too slowly. Without it nothing is known of how fast it reads.
   */
  readonly ready?: () => Promise<void>;
  /** Whether there is room for more at this moment. Where it says that there is none, no stream is given anything. */
  readonly hasRoom?: () => boolean;
  /** The connection has closed itself, and why: the socket is of no use any more. */
  readonly onClose?: (why: unknown) => void;
  /** Who reads along; where it is absent the connection has streams of its own. */
  readonly streams?: Streams;
  /** Asked before every stream and every command; throws `forbidden` or `unauthorized`. */
  readonly authorize?: (action: Action, session: string) => Promise<void> | void;
  /** Told of every frame that asks for something; throws `rate_limited`. */
  readonly countRequest?: () => void;
  /** Leave to read a session, which may end: then its stream is refused. Throws `too_many_streams`. None is needed without. */
  readonly watch?: (session: string, onEnd: (why: LoomError) => void) => () => void;
  /** Streams on one connection. Code `too_many_subscriptions`. */
  readonly maxSubscriptions?: number;
  /** Commands that are being carried out. Code `backlog_full`. */
  readonly maxCommands?: number;
  /** Answers sent while there was no room. Then the connection closes itself, after a last `backlog_full`. */
  readonly maxUnsent?: number;
  /** Characters of one frame from the client. Code `invalid_control`. */
  readonly maxInboundLength?: number;
  /** Bytes of one frame of a stream; what a receiver reads, unless told otherwise. Code `frame_too_long`. */
  readonly maxFrameBytes?: number;
  /** Something is sent at least this often; 0: no promise. */
  readonly heartbeatMs?: number;
  /** Told of every stream: a `MetricsCollector`, say. */
  readonly meter?: StreamMeter | undefined;
}

const DEFAULTS = {
  maxSubscriptions: SERVER_LIMITS.maxSubscriptions,
  maxCommands: 100,
  maxUnsent: 1000,
  maxInboundLength: SERVER_LIMITS.maxInboundLength,
  maxFrameBytes: SERVER_LIMITS.maxFrameBytes,
  heartbeatMs: SERVER_LIMITS.heartbeatMs,
};

interface Subscription {
  readonly stop: AbortController;
  ended: Promise<void>;
  reader: Reader | undefined;
}

const MAX_PONGS = 16;
/** A frame that is too long is still parsed for its id, up to so many times the limit. */
const PARSED_FOR_ID = 4;

export class ControlConnection {
  readonly #options: ControlConnectionOptions & typeof DEFAULTS;
  readonly #streams: Streams;
  /** Its own streams have no other readers. */
  readonly #ownStreams: Streams | undefined;
  readonly #subscriptions = new Map<string, Subscription>();
  /** The last command that was asked leave for: they are carried out in the order they came. */
  #allowed: Promise<void> | undefined;
  #commands = 0;
  #pongs = 0;
  /** Streams that were left and have not ended yet. */
  #leaving = 0;
  /** Answers since there was room. */
  #unsent = 0;
  #isWatchingRoom = false;
  /** Those that found no room and have waited longest; they come before those that were the last to find some. */
  readonly #deferred = new Set<Reader>();
  readonly #served = new Set<Reader>();
  readonly #over = new AbortController();
  /** Known where it can be waited for. */
  readonly #hasRoom: (() => boolean) | undefined;
  readonly #sendBytes: ((messages: Buffer) => void) | undefined;
  /** Quarters of a heartbeat in which nothing was sent. */
  #quarters = 0;
  readonly #heart: NodeJS.Timeout | undefined;

  constructor(options: ControlConnectionOptions) {
    this.#options = { ...DEFAULTS, ...options };
    const { heartbeatMs, streams, ready, hasRoom, sendBytes } = this.#options;
    // What every chunk needs is kept at hand.
    this.#hasRoom = ready === undefined ? undefined : hasRoom;
    this.#sendBytes = sendBytes;
    if (streams === undefined) this.#ownStreams = createOwnStreams(this.#options);
    this.#streams = streams ?? (this.#ownStreams as Streams);
    this.#send({ type: "hello", version: CONTROL_VERSION, heartbeat_ms: heartbeatMs });
    if (heartbeatMs > 0) this.#heart = setInterval(() => this.#beat(), heartbeatMs / 4).unref();
  }

  /** Takes one control frame of the client. */
  receive(text: string): void {
    if (this.#over.signal.aborted) return;
    const { maxInboundLength } = this.#options;
    if (text.length > maxInboundLength) {
      const id = findFrameId(text, maxInboundLength * PARSED_FOR_ID);
      const message = `a control frame has at most ${maxInboundLength} characters, not ${text.length}`;
      this.#answer({ type: "refusal", ...(id === undefined ? {} : { id }), code: "invalid_control", message });
      return;
    }
    const decoded = decodeUp(text);
    if (!decoded.ok) {
      const { ok: _ok, isUnknown: _unknown, ...why } = decoded;
      this.#answer({ type: "refusal", ...why });
      return;
    }
    const { frame } = decoded;
    if (frame.type === "unsubscribe") void this.#unsubscribe(frame);
    else if (frame.type === "ping") void this.#pong(frame);
    else this.#ask(frame);
  }

  #ask(frame: ControlCommand | SubscribeControl): void {
    try {
      this.#options.countRequest?.();
    } catch (error) {
      const { id, session } = frame;
      this.#answer(refuse(this.#options, error, { id, session }));
      return;
    }
    if (isCommand(frame)) void this.#carryOut(frame);
    else this.#subscribe(frame);
  }

  /** Something came that is no text. */
  receiveBinary(): void {
    this.#answer({ type: "refusal", code: "invalid_control", message: "a control frame is a text, not bytes" });
  }

  /** The client is gone. */
  close(): void {
    this.#stop("left");
  }

  #stop(why: "left" | "slow"): void {
    if (this.#over.signal.aborted) return;
    this.#over.abort();
    clearInterval(this.#heart);
    for (const { stop, reader } of this.#subscriptions.values()) {
      reader?.close(why);
      stop.abort();
    }
    void this.#ownStreams?.close();
  }

  /** One who asks faster than he reads is not answered for all of it. */
  async #pong({ id }: PingControl): Promise<void> {
    if (this.#pongs >= MAX_PONGS) return;
    this.#pongs++;
    await this.#untilReady(this.#over.signal);
    this.#pongs--;
    this.#answer({ type: "pong", ...(id === undefined ? {} : { id }) });
  }

  async #carryOut(command: ControlCommand): Promise<void> {
    const { id, session, type } = command;
    if (this.#commands >= this.#options.maxCommands) {
      const error = new LoomError("backlog_full", `${this.#commands} commands are being carried out already`);
      this.#answer(refuse(this.#options, error, { id, session }));
      return;
    }
    this.#commands++;
    try {
      await this.#allowInTurn(actionOf(type), session);
      this.#answer(await carryOut(this.#options, command));
    } catch (error) {
      this.#answer(refuse(this.#options, error, { id, session }));
    } finally {
      this.#commands--;
    }
  }

  /** However long it takes to ask: leave is given in the order it was asked for. */
  #allowInTurn(action: Action, session: string): Promise<void> | undefined {
    const { authorize } = this.#options;
    if (authorize === undefined) return undefined;
    const asked = (this.#allowed ?? Promise.resolve()).then(() => authorize(action, session));
    this.#allowed = asked.catch(() => undefined);
    return asked;
  }

  #subscribe(frame: SubscribeControl): void {
    const { id, session, dialect = "loom" } = frame;
    const key = keyOf(session, dialect);
    const { maxSubscriptions } = this.#options;
    const error = this.#subscriptions.has(key)
      ? new LoomError("already_subscribed", "this session is being sent in this dialect already")
      : this.#subscriptions.size + this.#leaving >= maxSubscriptions
        ? new LoomError("too_many_subscriptions", `a connection has at most ${maxSubscriptions} streams`)
        : undefined;
    if (error !== undefined) {
      meterRefusal(this.#options, error);
      this.#answer(refuse(this.#options, error, { id, session, dialect }));
      return;
    }
    const subscription: Subscription = { stop: new AbortController(), ended: Promise.resolve(), reader: undefined };
    this.#subscriptions.set(key, subscription);
    subscription.ended = this.#stream(frame, dialect, subscription).then((last) => {
      if (this.#subscriptions.get(key) === subscription) this.#subscriptions.delete(key);
      // Whoever asks anew when he is told of the end must not be refused.
      if (last !== undefined) this.#answer(last);
    });
  }

  /** Resolves to what is to be said at the end; undefined when nobody wants to know. */
  async #stream(frame: SubscribeControl, dialect: string, subscription: Subscription): Promise<DownFrame | undefined> {
    const { type: _type, id, session, follow = true, ...place } = frame;
    const { signal } = subscription.stop;
    try {
      // A message that was sent before may make the session.
      await this.#allowed;
      await awaitWritten(this.#options.log, session);
      await this.#options.authorize?.("sessions.read", session);
      const { watch } = this.#options;
      const lease = watch === undefined ? undefined : (onEnd: (why: LoomError) => void) => watch(session, onEnd);
      const request = { ...place, dialect, follow, transport: "control", signal, lease } as const;
      const reader = await this.#streams.open(session, request);
      if (reader === undefined || signal.aborted) {
        reader?.close();
        return undefined;
      }
      subscription.reader = reader;
      const { firstId, lastId } = reader.session;
      this.#answer({ type: "subscribed", id, session, dialect, first_id: firstId, last_id: lastId });
      if (this.#options.hasRoom?.() !== true) await this.#untilReady(signal);
      const { end, hasSent } = await this.#pass(reader, signal);
      switch (end.reason) {
        case "end":
          return { type: "end", session, dialect, ...(hasSent ? { cursor: end.cursor } : {}) };
        case "slow":
          // The whole connection is as slow as this.
          this.#giveUp(
            new LoomError("backlog_full", "the client reads too slowly", { cursor: end.cursor }),
            true,
            true,
          );
          return undefined;
        case "closing":
        case "left":
          return undefined;
        case "error":
          throw end.error;
      }
    } catch (error) {
      if (signal.aborted) return undefined;
      // It is the connection that has no future: whoever comes back is let in by who comes next.
      if (!isLoomError(error, "shutting_down")) return refuse(this.#options, error, { id, session, dialect });
      this.#giveUp(error, true);
      return undefined;
    }
  }

  #pass(reader: Reader, signal: AbortSignal): Promise<{ readonly end: ReaderEnd; readonly hasSent: boolean }> {
    const { promise, resolve } = Promise.withResolvers<{ readonly end: ReaderEnd; readonly hasSent: boolean }>();
    let hasSent = false;
    reader.start({
      mayWrite: () => {
        // All streams share one way out: what one has filled is full for the others, however many there are.
        if (this.#hasRoom?.() !== false) return true;
        this.#awaitRoom(reader, this.#deferred);
        return false;
      },
      write: (chunk) => {
        hasSent = true;
        this.#sendChunk(chunk);
        const hasRoom = this.#hasRoom;
        if (hasRoom?.() ?? this.#options.ready === undefined) return true;
        if (hasRoom !== undefined) this.#awaitRoom(reader, this.#served);
        else void this.#untilReady(signal).then(() => reader.resume());
        return false;
      },
      end: (end) => {
        this.#deferred.delete(reader);
        this.#served.delete(reader);
        resolve({ end, hasSent });
      },
    });
    return promise;
  }

  #awaitRoom(reader: Reader, waiting: Set<Reader>): void {
    waiting.add(reader);
    if (!this.#isWatchingRoom) void this.#watchRoom();
  }

  async #unsubscribe({ id, session, dialect = "loom" }: UnsubscribeControl): Promise<void> {
    const key = keyOf(session, dialect);
    const subscription = this.#subscriptions.get(key);
    if (subscription === undefined) {
      const error = new LoomError("not_subscribed", "this session is not being sent in this dialect");
      this.#answer(refuse(this.#options, error, { id, session, dialect }));
      return;
    }
    // Nothing of it is sent from here on, so it may be asked for anew.
    this.#subscriptions.delete(key);
    subscription.stop.abort();
    this.#leaving++;
    await subscription.ended;
    this.#leaving--;
    this.#answer({ type: "ack", id });
  }

  #beat(): void {
    if (++this.#quarters >= 2) this.#answer({ type: "heartbeat" });
  }

  /** Until there is room, or it does not matter any more. */
  async #untilReady(signal: AbortSignal): Promise<void> {
    const { ready } = this.#options;
    if (ready === undefined || signal.aborted) return;
    const { promise: aborted, resolve } = Promise.withResolvers<void>();
    const stop = (): void => resolve();
    signal.addEventListener("abort", stop, { once: true });
    try {
      await Promise.race([ready(), aborted]);
    } catch (error) {
      this.#giveUp(error);
    } finally {
      signal.removeEventListener("abort", stop);
    }
  }

  /** Everything but frames, for which streams wait: an answer does not, so answers are counted. */
  #answer(frame: DownFrame): void {
    const { ready, hasRoom, maxUnsent } = this.#options;
    if (ready !== undefined && ++this.#unsent > maxUnsent) {
      const error = new LoomError("backlog_full", `${maxUnsent} answers were sent and not read`);
      this.#send(refuse(this.#options, error, {}));
      this.#giveUp(error, true);
      return;
    }
    this.#send(frame);
    if (ready === undefined) return;
    if (hasRoom?.() === true) this.#unsent = 0;
    else if (!this.#isWatchingRoom) void this.#watchRoom();
  }

  async #watchRoom(): Promise<void> {
    this.#isWatchingRoom = true;
    await this.#untilReady(this.#over.signal);
    this.#isWatchingRoom = false;
    this.#unsent = 0;
    const readers = [...this.#deferred, ...this.#served];
    this.#deferred.clear();
    this.#served.clear();
    for (const reader of readers) reader.resume();
  }

  #send(frame: DownFrame): void {
    if (this.#over.signal.aborted) return;
    this.#quarters = 0;
    try {
      this.#options.send(encodeControl(frame));
    } catch (error) {
      // The client cannot be reached any more; nobody here could be told.
      this.#giveUp(error);
    }
  }

  #sendChunk(chunk: Chunk): void {
    this.#quarters = 0;
    try {
      if (this.#sendBytes === undefined) this.#options.send(chunk.controlText);
      else this.#sendBytes(chunk.bytes("control"));
    } catch (error) {
      this.#giveUp(error);
    }
  }

  #giveUp(error: unknown, isTold = false, isMetered = false): void {
    if (this.#over.signal.aborted) return;
    const isSlow = isLoomError(error, "backlog_full");
    if (isSlow && !isMetered) meterSlowReader(this.#options);
    this.#stop(isSlow ? "slow" : "left");
    if (!isTold) this.#options.onError?.(error);
    this.#options.onClose?.(error);
  }
}

function createOwnStreams({ log, meter, onError, maxFrameBytes }: ControlConnectionOptions & typeof DEFAULTS): Streams {
  // Nobody else comes to share what would linger.
  return createStreams({ log, limits: { ...SERVER_LIMITS, maxFrameBytes, lingerMs: 0 }, meter, onError });
}

/** Dialect names hold no blank. */
function keyOf(session: string, dialect: string): string {
  return `${dialect} ${session}`;
}
