/**
 * The server side of the control protocol for one client: many streams and commands over one connection. It is
 * independent of the transport: pass incoming texts to `receive`; outgoing texts go to `send`, and shared batches to
 * `sendBytes`.
 *
 * Invariants:
 * - An invalid frame, a failed stream or a refused command affects nothing else on the connection.
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
import { dropUndefined } from "../../protocol/drop-undefined.ts";
import { isLoomError, LoomError } from "../../protocol/index.ts";
import type { CommandHost } from "../commands/command-host.ts";
import { awaitSubmitted } from "../commands/command-queue.ts";
import { actionOf, executeCommand, toRefusal } from "../commands/execute-command.ts";
import type { Action } from "../auth/scopes.ts";
import { SERVER_LIMITS } from "../guard/server-limits.ts";
import { createStreams } from "../streams/create-streams.ts";
import { meterRefusal, meterSlowReader } from "../streams/meter-stream.ts";
import type { FrameBatch } from "../streams/frame-batch.ts";
import type { ReadRequest, StreamReader, Streams } from "../streams/stream-reader.ts";
import { Backpressure, MAX_UNSENT, tooSlow } from "./backpressure.ts";
import { FrameGate } from "./frame-gate.ts";
import { findFrameId } from "./find-frame-id.ts";

/** Options of `ControlConnection`. */
export interface ControlConnectionOptions extends CommandHost {
  /** Sends one control frame as text. If it throws, the connection closes. */
  readonly send: (text: string) => void;
  /** Sends encoded WebSocket messages, which are shared by all readers. Default: they are passed to `send` as text. */
  readonly sendBytes?: (messages: Buffer) => void;
  /**
   * Whether there is room for more data. While it returns false, no stream receives data, and the connection closes with
   * `backlog_full` after 1,000 replies. Needs `whenRoom`. Default: no backpressure.
   */
  readonly hasRoom?: () => boolean;
  /** Calls back once when there is room or the client has disconnected; immediately if that is already so. Needs `hasRoom`. */
  readonly whenRoom?: (act: () => void) => void;
  /** Called with the reason when the connection has closed itself. Close the socket then. */
  readonly onClose?: (why: unknown) => void;
  /** The shared streams of the server. Default: the connection creates its own. @internal */
  readonly streams?: Streams;
  /** Called before every stream and command. Throws `forbidden` or `unauthorized` to refuse it. */
  readonly authorize?: (action: Action, session: string) => Promise<void> | void;
  /** Called for every request frame. Throws `rate_limited` to refuse it. */
  readonly countRequest?: (() => Promise<void>) | undefined;
  /**
   * Acquires permission to read a session. Calling `onEnd` ends the stream with that error. Throws `too_many_streams`.
   * Default: no permission is needed.
   */
  readonly watch?: ((session: string, onEnd: (why: LoomError) => void) => () => void) | undefined;
  /** Maximum streams of one connection. Code `too_many_subscriptions`. Default: `SERVER_LIMITS.maxSubscriptions`. */
  readonly maxSubscriptions?: number;
  /**
   * The longest frame from the client, in characters. Code `invalid_control`. Default:
   * `SERVER_LIMITS.maxInboundLength`.
   */
  readonly maxInboundLength?: number;
  /** The largest frame of a stream, in bytes. Code `frame_too_long`. Default: `SERVER_LIMITS.maxFrameBytes`. */
  readonly maxFrameBytes?: number;
  /**
   * The longest silence before a heartbeat, in milliseconds; 0 disables heartbeats. Default:
   * `SERVER_LIMITS.heartbeatMs`.
   */
  readonly heartbeatMs?: number;
  /** Counts every stream, for example a `MetricsCollector`. */
  readonly meter?: StreamMeter | undefined;
}

const DEFAULTS = {
  hasRoom: () => true,
  whenRoom: (act: () => void) => act(),
  maxSubscriptions: SERVER_LIMITS.maxSubscriptions,
  maxInboundLength: SERVER_LIMITS.maxInboundLength,
  maxFrameBytes: SERVER_LIMITS.maxFrameBytes,
  heartbeatMs: SERVER_LIMITS.heartbeatMs,
};

interface Subscription {
  readonly stop: AbortController;
  ended: Promise<void>;
  reader: StreamReader | undefined;
}

/** Maximum commands in progress. Code `backlog_full`. */
const MAX_COMMANDS = 100;
const MAX_PONGS = 16;
/** A frame above the limit is still parsed for its ID, up to this multiple of the limit. */
const ID_PARSE_FACTOR = 4;

/**
 * Serves the control protocol to one client over any transport that carries texts.
 *
 * ```ts
 * const connection = new ControlConnection({ log, send: (text) => socket.send(text), onClose: () => socket.close() });
 * socket.on("message", (data) => connection.receive(data.toString()));
 * socket.on("close", () => connection.close());
 * ```
 */
export class ControlConnection {
  readonly #options: ControlConnectionOptions & typeof DEFAULTS;
  readonly #gate: FrameGate;
  readonly #pressure: Backpressure;
  readonly #streams: Streams;
  /** Streams of this connection only. Undefined when shared streams were passed. */
  readonly #ownStreams: Streams | undefined;
  readonly #subscriptions = new Map<string, Subscription>();
  /** The last authorization in progress. Commands are authorized in the order they arrive. */
  #authorizing: Promise<void> | undefined;
  #commands = 0;
  #pongs = 0;
  /** Streams that were unsubscribed but have not ended yet. */
  #leaving = 0;
  readonly #closed = new AbortController();
  /** Quarters of the heartbeat interval without a message. */
  #silentQuarters = 0;
  readonly #heartbeatTimer: NodeJS.Timeout | undefined;

  constructor(options: ControlConnectionOptions) {
    if ((options.hasRoom === undefined) !== (options.whenRoom === undefined))
      throw new LoomError("invalid_arguments", "`hasRoom` and `whenRoom` must be given together");
    this.#options = { ...DEFAULTS, ...dropUndefined(options) };
    const { countRequest, maxInboundLength, heartbeatMs, streams } = this.#options;
    this.#gate = new FrameGate(countRequest, maxInboundLength);
    this.#pressure = new Backpressure(this.#options);
    if (streams === undefined) this.#ownStreams = createOwnStreams(this.#options);
    this.#streams = streams ?? (this.#ownStreams as Streams);
    this.#send({ type: "hello", version: CONTROL_VERSION, heartbeat_ms: heartbeatMs });
    if (heartbeatMs > 0) this.#heartbeatTimer = setInterval(() => this.#sendHeartbeat(), heartbeatMs / 4).unref();
  }

  /** Handles one control frame from the client. Ignored after the connection has closed. */
  receive(text: string): void {
    if (this.#closed.signal.aborted) return;
    const { maxInboundLength } = this.#options;
    if (text.length > maxInboundLength) {
      const id = findFrameId(text, maxInboundLength * ID_PARSE_FACTOR);
      const message = `The control frame has ${text.length} characters; the limit is ${maxInboundLength}`;
      this.#reply({ type: "refusal", ...(id === undefined ? {} : { id }), code: "invalid_control", message });
      return;
    }
    const decoded = decodeUp(text);
    if (!decoded.ok) {
      const { ok: _ok, isUnknown: _unknown, ...why } = decoded;
      this.#reply({ type: "refusal", ...why });
      return;
    }
    const { frame } = decoded;
    if (frame.type === "unsubscribe") this.#gate.follow(() => void this.#unsubscribe(frame));
    else if (frame.type === "ping") this.#pong(frame);
    else this.#handleRequest(frame, text.length);
  }

  #handleRequest(frame: ControlCommand | SubscribeControl, length: number): void {
    this.#gate.pass(length, (refusal) => {
      if (this.#closed.signal.aborted) return;
      const { id, session } = frame;
      if (refusal !== undefined) this.#reply(toRefusal(this.#options, refusal, { id, session }));
      else if (isCommand(frame)) void this.#runCommand(frame);
      else this.#subscribe(frame);
    });
  }

  /** Handles a binary message, which the control protocol does not allow. */
  receiveBinary(): void {
    this.#reply({ type: "refusal", code: "invalid_control", message: "A control frame must be a text message" });
  }

  /** Ends all streams. Call it when the client has disconnected. Commands in progress still complete. */
  close(): void {
    this.#stop("left");
  }

  #stop(why: "left" | "slow"): void {
    if (this.#closed.signal.aborted) return;
    this.#closed.abort();
    clearInterval(this.#heartbeatTimer);
    for (const { stop, reader } of this.#subscriptions.values()) {
      reader?.close(why);
      stop.abort();
    }
    void this.#ownStreams?.close();
  }

  /** Replies to a ping when there is room. Excess pings are ignored. */
  #pong({ id }: PingControl): void {
    if (this.#pongs >= MAX_PONGS) return;
    this.#pongs++;
    this.#options.whenRoom(() => {
      this.#pongs--;
      this.#reply({ type: "pong", ...(id === undefined ? {} : { id }) });
    });
  }

  async #runCommand(command: ControlCommand): Promise<void> {
    const { id, session, type } = command;
    if (this.#commands >= MAX_COMMANDS) {
      const error = new LoomError(
        "backlog_full",
        `${this.#commands} commands are already in progress; wait for a reply`,
      );
      this.#reply(toRefusal(this.#options, error, { id, session }));
      return;
    }
    this.#commands++;
    try {
      await this.#authorizeInOrder(actionOf(type), session);
      this.#reply(await executeCommand(this.#options, command));
    } catch (error) {
      this.#reply(toRefusal(this.#options, error, { id, session }));
    } finally {
      this.#commands--;
    }
  }

  /** Authorizes commands in the order they arrived, even when a check is slow. */
  #authorizeInOrder(action: Action, session: string): Promise<void> | undefined {
    const { authorize } = this.#options;
    if (authorize === undefined) return undefined;
    const authorized = (this.#authorizing ?? Promise.resolve()).then(() => authorize(action, session));
    this.#authorizing = authorized.catch(() => undefined);
    return authorized;
  }

  #subscribe(frame: SubscribeControl): void {
    const { id, session, dialect = "loom" } = frame;
    const key = subscriptionKey(session, dialect);
    const { maxSubscriptions } = this.#options;
    const error = this.#subscriptions.has(key)
      ? new LoomError("already_subscribed", "This session is already subscribed in this dialect")
      : this.#subscriptions.size + this.#leaving >= maxSubscriptions
        ? new LoomError(
            "too_many_subscriptions",
            `Too many subscriptions on this connection (limit ${maxSubscriptions}); unsubscribe one first`,
          )
        : undefined;
    if (error !== undefined) {
      meterRefusal(this.#options, error);
      this.#reply(toRefusal(this.#options, error, { id, session, dialect }));
      return;
    }
    const subscription: Subscription = { stop: new AbortController(), ended: Promise.resolve(), reader: undefined };
    this.#subscriptions.set(key, subscription);
    subscription.ended = this.#stream(frame, dialect, subscription).then((lastFrame) => {
      if (this.#subscriptions.get(key) === subscription) this.#subscriptions.delete(key);
      // Reply after removal, so that the client can subscribe again at once.
      if (lastFrame !== undefined) this.#reply(lastFrame);
    });
  }

  /** Resolves to the final frame of the stream, or undefined when there is nothing to send. */
  async #stream(frame: SubscribeControl, dialect: string, subscription: Subscription): Promise<DownFrame | undefined> {
    const { type: _type, id, session, follow = true, ...selection } = frame;
    const { signal } = subscription.stop;
    try {
      // A `run` command sent just before may create the session.
      await this.#authorizing;
      await awaitSubmitted(this.#options.log, session);
      await this.#options.authorize?.("sessions.read", session);
      const { watch } = this.#options;
      const lease = watch === undefined ? undefined : (onEnd: (why: LoomError) => void) => watch(session, onEnd);
      const request: ReadRequest = { ...selection, dialect, follow, transport: "control", signal, lease };
      const reader = await this.#streams.open(session, request);
      if (reader === undefined || signal.aborted) {
        reader?.close();
        return undefined;
      }
      subscription.reader = reader;
      const { firstId, lastId } = reader.session;
      this.#reply({ type: "subscribed", id, session, dialect, first_id: firstId, last_id: lastId });
      let hasSent = false;
      const send = (batch: FrameBatch): void => {
        hasSent = true;
        this.#sendBatch(batch);
      };
      const catchUp = (): void => this.#reply({ type: "caught_up", session, dialect });
      const end = await this.#pressure.forward(reader, send, catchUp);
      switch (end.reason) {
        case "end":
          return { type: "end", session, dialect, ...(hasSent ? { cursor: end.cursor } : {}) };
        case "slow":
          // The whole connection is slow, not only this stream.
          this.#fail(tooSlow(end.cursor), true, true);
          return undefined;
        case "closing":
        case "left":
          return undefined;
        case "error":
          throw end.error;
      }
    } catch (error) {
      if (signal.aborted) return undefined;
      // The server is shutting down, so close the connection; the client reconnects to the next server.
      if (!isLoomError(error, "shutting_down")) return toRefusal(this.#options, error, { id, session, dialect });
      this.#fail(error, true);
      return undefined;
    }
  }

  async #unsubscribe({ id, session, dialect = "loom" }: UnsubscribeControl): Promise<void> {
    const key = subscriptionKey(session, dialect);
    const subscription = this.#subscriptions.get(key);
    if (subscription === undefined) {
      const error = new LoomError("not_subscribed", "This session is not subscribed in this dialect");
      this.#reply(toRefusal(this.#options, error, { id, session, dialect }));
      return;
    }
    // No more of it is sent from here on, so the client may subscribe again.
    this.#subscriptions.delete(key);
    subscription.stop.abort();
    this.#leaving++;
    await subscription.ended;
    this.#leaving--;
    this.#reply({ type: "ack", id });
  }

  #sendHeartbeat(): void {
    if (++this.#silentQuarters >= 2) this.#reply({ type: "heartbeat" });
  }

  /** Sends a frame that is not stream data. */
  #reply(frame: DownFrame): void {
    if (this.#closed.signal.aborted) return;
    if (this.#pressure.countReply()) {
      this.#send(frame);
      return;
    }
    const error = new LoomError("backlog_full", `${MAX_UNSENT} replies were sent but not read`);
    this.#send(toRefusal(this.#options, error, {}));
    this.#fail(error, true);
  }

  #send(frame: DownFrame): void {
    if (this.#closed.signal.aborted) return;
    this.#silentQuarters = 0;
    try {
      this.#options.send(encodeControl(frame));
    } catch (error) {
      // The client is unreachable.
      this.#fail(error);
    }
  }

  #sendBatch(batch: FrameBatch): void {
    this.#silentQuarters = 0;
    const { send, sendBytes } = this.#options;
    try {
      if (sendBytes === undefined) send(batch.controlText);
      else sendBytes(batch.bytes("control"));
    } catch (error) {
      this.#fail(error);
    }
  }

  #fail(error: unknown, isReported = false, isMetered = false): void {
    if (this.#closed.signal.aborted) return;
    const isSlow = isLoomError(error, "backlog_full");
    if (isSlow && !isMetered) meterSlowReader(this.#options);
    this.#stop(isSlow ? "slow" : "left");
    if (!isReported) this.#options.onError?.(error);
    this.#options.onClose?.(error);
  }
}

function createOwnStreams({ log, meter, onError, maxFrameBytes }: ControlConnectionOptions & typeof DEFAULTS): Streams {
  // These streams are not shared, so they need not linger.
  return createStreams({ log, limits: { ...SERVER_LIMITS, maxFrameBytes, lingerMs: 0 }, meter, onError });
}

/** Dialect names contain no spaces. */
function subscriptionKey(session: string, dialect: string): string {
  return `${dialect} ${session}`;
}
