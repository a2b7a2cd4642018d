/**
 * The server's side of the control protocol for one client: many streams and commands over one pair of text pipes. It
 * knows no socket; whoever has one feeds it with `receive` and is given texts to send.
 *
 * Invariants:
 * - A frame that cannot be read, a stream that breaks and a command that is refused harm nothing else.
 * - At most one batch of each stream is in flight: what is not sent yet is not read yet.
 * - Whoever asks and does not read is given so many answers, and then no connection any more.
 */
import type { StreamFrame } from "../../log/index.ts";
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
import { carryOut, type CommandHost, refuse } from "../commands/carry-out.ts";
import { findFrameId } from "./find-frame-id.ts";
import { meterRefusal, type MeteredStream, meterSlowReader, meterStream } from "../streams/meter-stream.ts";
import { MAX_FRAME_BYTES, openPlace, readPlace } from "../streams/stream-place.ts";

export interface ControlConnectionOptions extends CommandHost {
  /** Takes the text of one control frame. Where it throws, the connection closes itself. */
  readonly send: (text: string) => void;
  /**
   * Resolves when there is room for more; streams wait for it before each batch. Where it rejects, the connection closes
   * itself: with `backlog_full`, for a client that reads too slowly. Without it nothing is known of how fast it reads.
   */
  readonly ready?: () => Promise<void>;
  /** The connection has closed itself: the socket is of no use any more. */
  readonly onClose?: () => void;
  /** Streams on one connection. Code `too_many_subscriptions`. */
  readonly maxSubscriptions?: number;
  /** Commands that are being carried out. Code `backlog_full`. */
  readonly maxCommands?: number;
  /** Answers sent while `ready` has not resolved. Then the connection closes itself, after a last `backlog_full`. */
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

interface Subscription {
  readonly stop: AbortController;
  readonly ended: Promise<void>;
}

const MAX_PONGS = 16;
/** A frame that is too long is still parsed for its id, up to so many times the limit. */
const PARSED_FOR_ID = 4;

export class ControlConnection {
  readonly #options: Required<Omit<ControlConnectionOptions, keyof CommandHost | "ready" | "onClose" | "meter">> &
    ControlConnectionOptions;
  readonly #subscriptions = new Map<string, Subscription>();
  #commands = 0;
  #pongs = 0;
  /** Answers since there was room. */
  #unsent = 0;
  #isWatchingRoom = false;
  /** It was closed since the client did not read. */
  #isSlow = false;
  readonly #over = new AbortController();
  #lastSentAt = performance.now();
  readonly #heart: NodeJS.Timeout | undefined;

  constructor(options: ControlConnectionOptions) {
    this.#options = {
      maxSubscriptions: 100,
      maxCommands: 100,
      maxUnsent: 1000,
      maxInboundLength: 64 * 1024,
      maxFrameBytes: MAX_FRAME_BYTES,
      heartbeatMs: 15_000,
      ...options,
    };
    const { heartbeatMs } = this.#options;
    this.#send({ type: "hello", version: CONTROL_VERSION, heartbeat_ms: heartbeatMs });
    if (heartbeatMs > 0) this.#heart = setInterval(() => this.#beat(heartbeatMs), heartbeatMs / 4).unref();
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
    if (isCommand(frame)) void this.#carryOut(frame);
    else if (frame.type === "subscribe") this.#subscribe(frame);
    else if (frame.type === "unsubscribe") void this.#unsubscribe(frame);
    else void this.#pong(frame);
  }

  /** The client is gone. */
  close(): void {
    this.#over.abort();
    clearInterval(this.#heart);
    for (const { stop } of this.#subscriptions.values()) stop.abort();
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
    const { id, session } = command;
    if (this.#commands >= this.#options.maxCommands) {
      const error = new LoomError("backlog_full", `${this.#commands} commands are being carried out already`);
      this.#answer(refuse(this.#options, error, { id, session }));
      return;
    }
    this.#commands++;
    const answer = await carryOut(this.#options, command);
    this.#commands--;
    this.#answer(answer);
  }

  #subscribe(frame: SubscribeControl): void {
    const { id, session, dialect = "loom" } = frame;
    const key = keyOf(session, dialect);
    const { maxSubscriptions } = this.#options;
    const error = this.#subscriptions.has(key)
      ? new LoomError("already_subscribed", "this session is being sent in this dialect already")
      : this.#subscriptions.size >= maxSubscriptions
        ? new LoomError("too_many_subscriptions", `a connection has at most ${maxSubscriptions} streams`)
        : undefined;
    if (error !== undefined) {
      meterRefusal(this.#options, error);
      this.#answer(refuse(this.#options, error, { id, session, dialect }));
      return;
    }
    const stop = new AbortController();
    const ended = this.#stream(frame, dialect, stop.signal).then((last) => {
      this.#subscriptions.delete(key);
      // Whoever asks anew when he is told of the end must not be refused.
      if (last !== undefined) this.#answer(last);
    });
    this.#subscriptions.set(key, { stop, ended });
  }

  /** Resolves to what is to be said at the end; undefined when nobody wants to know. */
  async #stream(frame: SubscribeControl, dialect: string, signal: AbortSignal): Promise<DownFrame | undefined> {
    const { id, session, follow = true, limit = Number.POSITIVE_INFINITY } = frame;
    const { log, maxFrameBytes } = this.#options;
    let metered: MeteredStream | undefined;
    let isPlaced = false;
    try {
      const place = readPlace(frame);
      const opened = await openPlace(log, session, { ...place, follow, maxFrameBytes, signal });
      if (opened === undefined) return undefined;
      try {
        if (signal.aborted) return undefined;
        isPlaced = true;
        metered = meterStream(this.#options, opened, { ...place, transport: "control", follow, limit });
        const { firstId, lastId } = opened.session;
        this.#answer({ type: "subscribed", id, session, dialect, first_id: firstId, last_id: lastId });
        const cursor = await this.#sendFrames(opened.batches, frame, dialect, limit, signal, metered);
        if (signal.aborted) return undefined;
        metered?.close("end");
        return { type: "end", session, dialect, ...(cursor === undefined ? {} : { cursor }) };
      } finally {
        await opened.close();
      }
    } catch (error) {
      if (signal.aborted) return undefined;
      if (!isPlaced) meterRefusal(this.#options, error);
      metered?.close("error");
      return refuse(this.#options, error, { id, session, dialect });
    } finally {
      // Where it has neither ended nor broken, somebody has stopped it.
      metered?.close(this.#isSlow ? "slow" : "left");
    }
  }

  /** Resolves to the cursor of the last frame that was sent. */
  async #sendFrames(
    batches: AsyncIterable<readonly StreamFrame[]>,
    { session }: SubscribeControl,
    dialect: string,
    limit: number,
    signal: AbortSignal,
    metered: MeteredStream | undefined,
  ): Promise<string | undefined> {
    let left = limit;
    let cursor: string | undefined;
    for await (const batch of batches) {
      const given = batch.slice(0, left);
      const last = given.at(-1);
      if (last === undefined) break;
      await this.#untilReady(signal);
      if (signal.aborted) break;
      ({ cursor } = last);
      left -= given.length;
      this.#send({ type: "frames", session, dialect, frames: given.map(({ text }) => text), cursor });
      metered?.send(given);
      if (left <= 0) break;
    }
    return cursor;
  }

  async #unsubscribe({ id, session, dialect = "loom" }: UnsubscribeControl): Promise<void> {
    const subscription = this.#subscriptions.get(keyOf(session, dialect));
    if (subscription === undefined) {
      const error = new LoomError("not_subscribed", "this session is not being sent in this dialect");
      this.#answer(refuse(this.#options, error, { id, session, dialect }));
      return;
    }
    subscription.stop.abort();
    await subscription.ended;
    this.#answer({ type: "ack", id });
  }

  #beat(heartbeatMs: number): void {
    if (performance.now() - this.#lastSentAt >= heartbeatMs / 2) this.#answer({ type: "heartbeat" });
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
    const { ready, maxUnsent } = this.#options;
    if (ready !== undefined && ++this.#unsent > maxUnsent) {
      const error = new LoomError("backlog_full", `${maxUnsent} answers were sent and not read`);
      this.#send(refuse(this.#options, error, {}));
      this.#giveUp(error, true);
      return;
    }
    this.#send(frame);
    if (ready !== undefined && !this.#isWatchingRoom) void this.#watchRoom();
  }

  async #watchRoom(): Promise<void> {
    this.#isWatchingRoom = true;
    await this.#untilReady(this.#over.signal);
    this.#isWatchingRoom = false;
    this.#unsent = 0;
  }

  #send(frame: DownFrame): void {
    if (this.#over.signal.aborted) return;
    this.#lastSentAt = performance.now();
    try {
      this.#options.send(encodeControl(frame));
    } catch (error) {
      // The client cannot be reached any more; nobody here could be told.
      this.#giveUp(error);
    }
  }

  #giveUp(error: unknown, isTold = false): void {
    if (this.#over.signal.aborted) return;
    this.#isSlow = isLoomError(error, "backlog_full");
    if (this.#isSlow) meterSlowReader(this.#options);
    this.close();
    if (!isTold) this.#options.onError?.(error);
    this.#options.onClose?.();
  }
}

/** Dialect names hold no blank. */
function keyOf(session: string, dialect: string): string {
  return `${dialect} ${session}`;
}
