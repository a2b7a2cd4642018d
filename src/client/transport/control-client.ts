/**
 * Client side of the control protocol on one link: many streams and commands over one bidirectional text channel. It
 * knows nothing about sockets; the owner of the link calls `receive` for each message and `linkLost` when the link
 * breaks.
 *
 *   (wait for the previous one) ── subscribe ──▶ requested ── subscribed ──▶ open ── end, refusal, abort, loss ──▶ over
 *
 * Invariants:
 * - A stream is identified by session and dialect, so there is at most one of each. Frames are accepted only after its
 *   `subscribed`; earlier ones may belong to the previous stream.
 * - An unreadable message fails the stream or command it names. If it names none, every stream gets a fault, commands
 *   are lost, and pending unsubscribes are repeated.
 * - Stream IDs start with a random prefix, so that a command ID cannot match one.
 */
import type { DialectName } from "../../dialects/index.ts";
import {
  CONTROL_VERSION,
  decodeDown,
  type DownFrame,
  encodeControl,
  type FramesControl,
  type InvalidControl,
  type RefusalControl,
  type SubscribeControl,
} from "../../protocol/control/index.ts";
import { parseJson } from "../../protocol/json.ts";
import type {
  ClientCommand,
  CommandResult,
  FrameSink,
  Refusal,
  SinkFault,
  StreamOutcome,
  StreamRequest,
} from "../transport.ts";
import { encodeCommand, createTimedOutCommand, createLostCommand, readCommandResult } from "./command-frames.ts";
import { readRefusal, refuse } from "./refusal.ts";

export interface ControlClientOptions {
  /** Sends one control frame. May queue it until the link is open. */
  readonly send: (text: string) => void;
  /** Called when no stream is open and no command is pending. */
  readonly onIdle?: () => void;
  readonly commandTimeoutMs: number;
  readonly maxCommandLength: number;
}

interface StreamName {
  readonly session: string;
  readonly dialect: DialectName;
}

interface OpenStream extends StreamName {
  readonly id: string;
  readonly sink: FrameSink;
  readonly request: () => void;
  readonly end: (outcome: StreamOutcome) => void;
  isRequested: boolean;
  isSubscribed: boolean;
  isOver: boolean;
}

type SettleCommand = (outcome: CommandResult) => void;

/** Maximum number of commands that wait for a response on one link. */
const MAX_PENDING_COMMANDS = 1000;
/** Minimum interval between two `alive` reports caused by frames of other streams. */
const ALIVE_EVERY_MS = 1000;

export class ControlClient {
  readonly #options: ControlClientOptions;
  readonly #streams = new Map<string, OpenStream>();
  /** Streams being unsubscribed, by the ID of the `unsubscribe`. */
  readonly #unsubscribing = new Map<string, StreamName>();
  /** Keys of the streams being unsubscribed. */
  readonly #unsubscribingKeys = new Set<string>();
  readonly #commands = new Map<string, Set<SettleCommand>>();
  #pendingCount = 0;
  readonly #ids = `stream-${Math.random().toString(36).slice(2)}-`;
  #lastId = 0;
  #reportedAliveAt = -Infinity;
  /** Set when the link is unusable: the result of everything requested afterwards. */
  #closed: { readonly stream: StreamOutcome; readonly command: CommandResult } | undefined;

  constructor(options: ControlClientOptions) {
    this.#options = options;
  }

  get isIdle(): boolean {
    return this.#streams.size === 0 && this.#pendingCount === 0;
  }

  get streamCount(): number {
    return this.#streams.size;
  }

  has(session: string, dialect: DialectName): boolean {
    return this.#streams.has(keyOf(session, dialect));
  }

  open(request: StreamRequest, sink: FrameSink, signal: AbortSignal): Promise<StreamOutcome> {
    if (signal.aborted) return Promise.resolve({ kind: "aborted" });
    if (this.#closed !== undefined) return Promise.resolve(this.#closed.stream);
    const { session, dialect, modes, from, follow, limit } = request;
    const key = keyOf(session, dialect);
    if (this.#streams.has(key)) return Promise.resolve(refuse("already_subscribed", "This stream is already open"));
    return new Promise((resolve) => {
      const id = this.#nextId();
      const abort = (): void => this.#abandonStream(stream, { kind: "aborted" });
      const { after, skip, of } = from;
      const subscription: SubscribeControl = {
        type: "subscribe",
        id,
        session,
        dialect,
        // The receiver cannot verify the strict form, which a server may send by default.
        strict: false,
        follow,
        ...(modes !== undefined && { modes: modes === "all" ? ["all"] : modes }),
        ...(after !== undefined && { after }),
        ...(skip !== undefined && skip > 0 && { skip }),
        ...(of !== undefined && { of }),
        ...(limit !== undefined && { limit }),
      };
      const stream: OpenStream = {
        id,
        session,
        dialect,
        sink,
        isRequested: false,
        isSubscribed: false,
        isOver: false,
        request: () => {
          stream.isRequested = true;
          this.#options.send(encodeControl(subscription));
        },
        end: (outcome) => {
          if (stream.isOver) return;
          stream.isOver = true;
          signal.removeEventListener("abort", abort);
          this.#streams.delete(key);
          resolve(outcome);
          this.#checkIdle();
        },
      };
      this.#streams.set(key, stream);
      signal.addEventListener("abort", abort, { once: true });
      // The server allows one stream per session and dialect, so wait until the previous one has ended.
      if (!this.#unsubscribingKeys.has(key)) stream.request();
    });
  }

  send(command: ClientCommand, signal: AbortSignal): Promise<CommandResult> {
    if (signal.aborted) return Promise.resolve(createLostCommand("The command was aborted before it was sent"));
    if (this.#closed !== undefined) return Promise.resolve(this.#closed.command);
    if (this.#pendingCount >= MAX_PENDING_COMMANDS)
      return Promise.resolve(
        refuse("queue_full", `${MAX_PENDING_COMMANDS} commands are already waiting for a response`),
      );
    const text = encodeCommand(command, this.#options.maxCommandLength);
    if (typeof text !== "string") return Promise.resolve(text);
    return new Promise((resolve) => {
      const waiters = this.#commands.get(command.id) ?? new Set<SettleCommand>();
      const settle: SettleCommand = (outcome) => {
        clearTimeout(timer);
        signal.removeEventListener("abort", abort);
        waiters.delete(settle);
        if (waiters.size === 0) this.#commands.delete(command.id);
        this.#pendingCount--;
        resolve(outcome);
        this.#checkIdle();
      };
      const abort = (): void => settle(createLostCommand("The command was aborted before it was answered"));
      const { commandTimeoutMs } = this.#options;
      const timer = setTimeout(() => settle(createTimedOutCommand(commandTimeoutMs)), commandTimeoutMs);
      signal.addEventListener("abort", abort, { once: true });
      this.#commands.set(command.id, waiters.add(settle));
      this.#pendingCount++;
      this.#options.send(text);
    });
  }

  /** Handles one message of the link. */
  receive(text: string): void {
    const decoded = decodeDown(text);
    if (!decoded.ok) {
      // Message types of newer servers are ignored.
      if (decoded.isUnknown !== true) this.#report(decoded);
    } else {
      this.#take(decoded.frame);
      // A stream notices its own frames, so the others are notified less often.
      this.#reportAlive(decoded.frame.type === "frames" ? ALIVE_EVERY_MS : 0);
    }
  }

  /** Reports a message that could not be read. `head` is its beginning, if known. */
  fault(reason: SinkFault, detail: string, head = ""): void {
    const session = readSession(head);
    const streams = [...this.#streams.values()];
    const named = streams.filter((stream) => stream.session === session);
    if (named.length === 0) {
      // It may have been any response, so everything that waits for one is retried.
      for (const id of this.#commands.keys()) this.#settleCommand(id, createLostCommand(detail));
      const leaving = [...this.#unsubscribing.values()];
      this.#unsubscribing.clear();
      for (const name of leaving) this.#unsubscribe(name);
    }
    for (const { sink } of named.length > 0 ? named : streams) sink.fault(reason, detail);
    this.#reportAlive(0);
  }

  /**
   * Ends all streams and commands because the link broke; it is unknown whether pending commands arrived. With a
   * refusal, everything requested later is refused too.
   */
  linkLost(why: string | Refusal): void {
    if (typeof why === "string") this.#endAll({ kind: "lost", message: why }, createLostCommand(why));
    else this.#endAll(why, why);
  }

  /** Ends all streams and commands because the link is no longer needed. */
  close(): void {
    this.#endAll({ kind: "aborted" }, createLostCommand("The transport was closed"));
  }

  #take(frame: DownFrame): void {
    switch (frame.type) {
      case "hello":
        if (frame.version > CONTROL_VERSION) this.#refuseAll(frame.version);
        break;
      case "subscribed": {
        const stream = this.#findStream(frame.session, frame.dialect);
        if (stream?.id !== frame.id) break;
        stream.isSubscribed = true;
        stream.sink.history?.(frame.last_id);
        break;
      }
      case "caught_up": {
        const stream = this.#findStream(frame.session, frame.dialect);
        if (stream?.isSubscribed === true) stream.sink.history?.(undefined);
        break;
      }
      case "frames":
        this.#deliverFrames(frame);
        break;
      case "end": {
        const stream = this.#findStream(frame.session, frame.dialect);
        if (stream?.isSubscribed === true) stream.end({ kind: "ended" });
        break;
      }
      case "ack":
        this.#noteUnsubscribed(frame.id);
        this.#settleCommand(frame.id, readCommandResult(frame));
        break;
      case "refusal":
        this.#refuse(frame);
        break;
      case "heartbeat":
      case "pong":
        break;
    }
  }

  #deliverFrames({ session, dialect, frames, cursor }: FramesControl): void {
    const stream = this.#findStream(session, dialect);
    if (stream?.isSubscribed !== true) return;
    const last = frames.length - 1;
    for (const [index, text] of frames.entries()) {
      // The sink may abort the stream while taking a frame.
      if (stream.isOver) return;
      stream.sink.frame(text, index === last ? cursor : undefined);
    }
  }

  #refuse(refusal: RefusalControl): void {
    if (refusal.id === undefined) {
      this.#refuseUnnamed(refusal);
      return;
    }
    this.#noteUnsubscribed(refusal.id);
    this.#streamOfId(refusal.id)?.end(readRefusal(refusal, refusal.message));
    this.#settleCommand(refusal.id, readCommandResult(refusal));
  }

  /** The server could not read one of our frames and does not know its ID, so no response will come. */
  #refuseUnnamed(refusal: RefusalControl): void {
    // Frames of subscribed streams were readable; it must be another stream or a command.
    const ungranted = [...this.#streams.values()].filter(
      ({ isRequested: isAsked, isSubscribed: isFlowing }) => isAsked && !isFlowing,
    );
    const detail = `The server could not read a frame: ${refusal.message}`;
    for (const { sink } of ungranted) sink.fault("invalid_control", detail);
    const [id] = this.#commands.keys();
    if (ungranted.length === 0 && id !== undefined && this.#commands.size === 1)
      this.#settleCommand(id, readRefusal(refusal, refusal.message));
  }

  #report({ message, id, session }: InvalidControl): void {
    const detail = `The server sent an invalid control frame: ${message}`;
    const named = [...this.#streams.values()].filter((stream) => stream.session === session || stream.id === id);
    for (const stream of named) this.#abandonStream(stream, { kind: "lost", message: detail });
    const wasAwaited = id !== undefined && this.#commands.has(id);
    if (wasAwaited) this.#settleCommand(id, createLostCommand(detail));
    if (named.length === 0 && !wasAwaited) this.fault("invalid_control", detail);
  }

  /** Ends a stream and unsubscribes it on the server. */
  #abandonStream(stream: OpenStream, outcome: StreamOutcome): void {
    if (stream.isRequested) this.#unsubscribe(stream);
    stream.end(outcome);
  }

  #unsubscribe({ session, dialect }: StreamName): void {
    const id = this.#nextId();
    this.#unsubscribing.set(id, { session, dialect });
    this.#unsubscribingKeys.add(keyOf(session, dialect));
    this.#options.send(encodeControl({ type: "unsubscribe", id, session, dialect }));
  }

  /** The server has ended the previous stream, so a waiting one can be requested. */
  #noteUnsubscribed(id: string): void {
    const name = this.#unsubscribing.get(id);
    if (name === undefined) return;
    const key = keyOf(name.session, name.dialect);
    this.#unsubscribing.delete(id);
    this.#unsubscribingKeys.delete(key);
    this.#streams.get(key)?.request();
  }

  #refuseAll(version: number): void {
    const what = `The server uses control protocol ${version}, this client ${CONTROL_VERSION}; update the client`;
    this.#endAll(refuse("unsupported", what), refuse("unsupported", what));
  }

  #endAll(stream: StreamOutcome, command: CommandResult): void {
    this.#closed = { stream, command };
    for (const { end } of this.#streams.values()) end(stream);
    for (const id of this.#commands.keys()) this.#settleCommand(id, command);
  }

  #settleCommand(id: string, outcome: CommandResult): void {
    for (const settle of this.#commands.get(id) ?? []) settle(outcome);
  }

  #reportAlive(atMostEveryMs: number): void {
    const now = performance.now();
    if (now - this.#reportedAliveAt < atMostEveryMs) return;
    this.#reportedAliveAt = now;
    // A requested stream has not been answered yet, even if the link is alive.
    for (const { isSubscribed: isFlowing, isOver, sink } of this.#streams.values())
      if (isFlowing && !isOver) sink.alive();
  }

  #findStream(session: string, dialect: string): OpenStream | undefined {
    return this.#streams.get(keyOf(session, dialect));
  }

  #streamOfId(id: string): OpenStream | undefined {
    for (const stream of this.#streams.values()) if (stream.id === id) return stream;
    return undefined;
  }

  #checkIdle(): void {
    if (this.isIdle) this.#options.onIdle?.();
  }

  #nextId(): string {
    return `${this.#ids}${++this.#lastId}`;
  }
}

/** Dialect names contain no spaces, so keys are unique. */
function keyOf(session: string, dialect: string): string {
  return `${dialect} ${session}`;
}

/** Returns the session of a `frames` message, read from its beginning. */
function readSession(head: string): string | undefined {
  const [, text] = /^\{"type":"frames","session":("(?:[^"\\]|\\.)*")/.exec(head) ?? [];
  const name = text === undefined ? undefined : parseJson(text);
  return typeof name === "string" ? name : undefined;
}
