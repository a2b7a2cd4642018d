/**
 * The client's side of the control protocol on one link: many streams and commands over one pair of text pipes. It knows
 * no socket; whoever has one feeds it with `receive`, and tells it with `lose` that the link broke.
 *
 *   (waits for the one before it) ── subscribe ──▶ asked ── subscribed ──▶ flowing ── end, refusal, abort, lose ──▶ over
 *
 * Invariants:
 * - A stream is known by session and dialect, so there is one of each; frames count only once its own `subscribed` has
 *   come, for until then they may be the last of a stream before it.
 * - A frame that cannot be read fails the stream or command it names. Where it names none, it may have been for any:
 *   every stream is told so, commands are lost, and what was left is left again.
 * - Ids of ours begin with what nobody else can guess, so that no command is taken for a stream.
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
import type {
  ClientCommand,
  CommandOutcome,
  FrameSink,
  Refusal,
  SinkFault,
  StreamOutcome,
  StreamRequest,
} from "../transport.ts";
import { encodeCommand, expireCommand, loseCommand, readAnswer } from "./command-frames.ts";
import { parseJson, readRefusal, refuse } from "./refusal.ts";

export interface ControlClientOptions {
  /** Takes one control frame. May hold it back until the link is up. */
  readonly send: (text: string) => void;
  /** Called when nothing is open and nothing awaited any more. */
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
  readonly ask: () => void;
  readonly end: (outcome: StreamOutcome) => void;
  isAsked: boolean;
  isFlowing: boolean;
  isOver: boolean;
}

type Answer = (outcome: CommandOutcome) => void;

/** Commands that wait for an answer on one link. */
const MAX_WAITING = 1000;
/** All streams are told that the link is alive, but not for every frame of one of them. */
const ALIVE_EVERY_MS = 1000;

export class ControlClient {
  readonly #options: ControlClientOptions;
  readonly #streams = new Map<string, OpenStream>();
  /** Streams that were left and are not over at the server yet: by the id of the `unsubscribe`, and all keys. */
  readonly #leaving = new Map<string, StreamName>();
  readonly #leavingKeys = new Set<string>();
  readonly #commands = new Map<string, Set<Answer>>();
  #waiting = 0;
  readonly #ids = `stream-${Math.random().toString(36).slice(2)}-`;
  #lastId = 0;
  #toldAliveAt = -Infinity;
  /** Set when the link is of no more use: what became of all becomes of whatever is asked after. */
  #over: { readonly stream: StreamOutcome; readonly command: CommandOutcome } | undefined;

  constructor(options: ControlClientOptions) {
    this.#options = options;
  }

  get isIdle(): boolean {
    return this.#streams.size === 0 && this.#waiting === 0;
  }

  get streamCount(): number {
    return this.#streams.size;
  }

  has(session: string, dialect: DialectName): boolean {
    return this.#streams.has(keyOf(session, dialect));
  }

  open(request: StreamRequest, sink: FrameSink, signal: AbortSignal): Promise<StreamOutcome> {
    if (signal.aborted) return Promise.resolve({ kind: "aborted" });
    if (this.#over !== undefined) return Promise.resolve(this.#over.stream);
    const { session, dialect, modes, from, follow, limit } = request;
    const key = keyOf(session, dialect);
    if (this.#streams.has(key)) return Promise.resolve(refuse("already_subscribed", "this stream is open already"));
    return new Promise((resolve) => {
      const id = this.#nextId();
      const abort = (): void => this.#leave(stream, { kind: "aborted" });
      const { after, skip, of } = from;
      const subscription: SubscribeControl = {
        type: "subscribe",
        id,
        session,
        dialect,
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
        isAsked: false,
        isFlowing: false,
        isOver: false,
        ask: () => {
          stream.isAsked = true;
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
      // The server has a stream once, and takes a moment to end the one before.
      if (!this.#leavingKeys.has(key)) stream.ask();
    });
  }

  send(command: ClientCommand, signal: AbortSignal): Promise<CommandOutcome> {
    if (signal.aborted) return Promise.resolve(loseCommand("given up before it was sent"));
    if (this.#over !== undefined) return Promise.resolve(this.#over.command);
    if (this.#waiting >= MAX_WAITING)
      return Promise.resolve(refuse("queue_full", `${MAX_WAITING} commands wait for an answer already`));
    const text = encodeCommand(command, this.#options.maxCommandLength);
    if (typeof text !== "string") return Promise.resolve(text);
    return new Promise((resolve) => {
      const answers = this.#commands.get(command.id) ?? new Set<Answer>();
      const answer: Answer = (outcome) => {
        clearTimeout(timer);
        signal.removeEventListener("abort", abort);
        answers.delete(answer);
        if (answers.size === 0) this.#commands.delete(command.id);
        this.#waiting--;
        resolve(outcome);
        this.#checkIdle();
      };
      const abort = (): void => answer(loseCommand("given up before it was answered"));
      const { commandTimeoutMs } = this.#options;
      const timer = setTimeout(() => answer(expireCommand(commandTimeoutMs)), commandTimeoutMs);
      signal.addEventListener("abort", abort, { once: true });
      this.#commands.set(command.id, answers.add(answer));
      this.#waiting++;
      this.#options.send(text);
    });
  }

  /** One message of the link. */
  receive(text: string): void {
    const decoded = decodeDown(text);
    if (!decoded.ok) {
      // What a newer server says beside is not for us.
      if (decoded.isUnknown !== true) this.#report(decoded);
    } else {
      this.#take(decoded.frame);
      // The stream itself hears its frames; the others need not be told of every one.
      this.#tellAlive(decoded.frame.type === "frames" ? ALIVE_EVERY_MS : 0);
    }
  }

  /** A message that could not even be looked at; `head` is how it began, where that is known. */
  fault(reason: SinkFault, detail: string, head = ""): void {
    const session = readSession(head);
    const streams = [...this.#streams.values()];
    const named = streams.filter((stream) => stream.session === session);
    if (named.length === 0) {
      // It may have been the answer to anything: whoever waits for one asks again.
      for (const id of this.#commands.keys()) this.#answer(id, loseCommand(detail));
      const leaving = [...this.#leaving.values()];
      this.#leaving.clear();
      for (const name of leaving) this.#unsubscribe(name);
    }
    for (const { sink } of named.length > 0 ? named : streams) sink.fault(reason, detail);
    this.#tellAlive(0);
  }

  /** The link broke: whether commands arrived is not known. With a refusal: whatever is asked again is refused. */
  lose(why: string | Refusal): void {
    if (typeof why === "string") this.#endAll({ kind: "lost", message: why }, loseCommand(why));
    else this.#endAll(why, why);
  }

  /** The link is no longer wanted. */
  close(): void {
    this.#endAll({ kind: "aborted" }, loseCommand("the transport was closed"));
  }

  #take(frame: DownFrame): void {
    switch (frame.type) {
      case "hello":
        if (frame.version > CONTROL_VERSION) this.#refuseAll(frame.version);
        break;
      case "subscribed": {
        const stream = this.#findStream(frame.session, frame.dialect);
        if (stream?.id === frame.id) stream.isFlowing = true;
        break;
      }
      case "frames":
        this.#giveFrames(frame);
        break;
      case "end": {
        const stream = this.#findStream(frame.session, frame.dialect);
        if (stream?.isFlowing === true) stream.end({ kind: "ended" });
        break;
      }
      case "ack":
        this.#noteLeft(frame.id);
        this.#answer(frame.id, readAnswer(frame));
        break;
      case "refusal":
        this.#refuse(frame);
        break;
      case "heartbeat":
      case "pong":
        break;
    }
  }

  #giveFrames({ session, dialect, frames, cursor }: FramesControl): void {
    const stream = this.#findStream(session, dialect);
    if (stream?.isFlowing !== true) return;
    const last = frames.length - 1;
    for (const [index, text] of frames.entries()) {
      // Asked for each: taking a frame may make its taker stop.
      if (stream.isOver) return;
      stream.sink.frame(text, index === last ? cursor : undefined);
    }
  }

  #refuse(refusal: RefusalControl): void {
    if (refusal.id === undefined) {
      this.#refuseUnnamed(refusal);
      return;
    }
    this.#noteLeft(refusal.id);
    this.#streamOfId(refusal.id)?.end(readRefusal(refusal, refusal.message));
    this.#answer(refusal.id, readAnswer(refusal));
  }

  /** Something we sent could not be read, and the server cannot say what: waiting for its answer would be in vain. */
  #refuseUnnamed(refusal: RefusalControl): void {
    // Streams that flow were read; it is one of the others, or a command.
    const ungranted = [...this.#streams.values()].filter(({ isAsked, isFlowing }) => isAsked && !isFlowing);
    const detail = `the server could not read a frame: ${refusal.message}`;
    for (const { sink } of ungranted) sink.fault("invalid_control", detail);
    const [id] = this.#commands.keys();
    if (ungranted.length === 0 && id !== undefined && this.#commands.size === 1)
      this.#answer(id, readRefusal(refusal, refusal.message));
  }

  #report({ message, id, session }: InvalidControl): void {
    const detail = `the server sent what is no control frame: ${message}`;
    const named = [...this.#streams.values()].filter((stream) => stream.session === session || stream.id === id);
    for (const stream of named) this.#leave(stream, { kind: "lost", message: detail });
    const wasAwaited = id !== undefined && this.#commands.has(id);
    if (wasAwaited) this.#answer(id, loseCommand(detail));
    if (named.length === 0 && !wasAwaited) this.fault("invalid_control", detail);
  }

  /** Ends a stream that the server would go on with. */
  #leave(stream: OpenStream, outcome: StreamOutcome): void {
    if (stream.isAsked) this.#unsubscribe(stream);
    stream.end(outcome);
  }

  #unsubscribe({ session, dialect }: StreamName): void {
    const id = this.#nextId();
    this.#leaving.set(id, { session, dialect });
    this.#leavingKeys.add(keyOf(session, dialect));
    this.#options.send(encodeControl({ type: "unsubscribe", id, session, dialect }));
  }

  /** The server has ended a stream that was left, or had before: its successor can be asked for. */
  #noteLeft(id: string): void {
    const name = this.#leaving.get(id);
    if (name === undefined) return;
    const key = keyOf(name.session, name.dialect);
    this.#leaving.delete(id);
    this.#leavingKeys.delete(key);
    this.#streams.get(key)?.ask();
  }

  #refuseAll(version: number): void {
    const what = `the server speaks version ${version} of the control protocol, this client ${CONTROL_VERSION}`;
    this.#endAll(refuse("unsupported", what), refuse("unsupported", what));
  }

  #endAll(stream: StreamOutcome, command: CommandOutcome): void {
    this.#over = { stream, command };
    for (const { end } of this.#streams.values()) end(stream);
    for (const id of this.#commands.keys()) this.#answer(id, command);
  }

  #answer(id: string, outcome: CommandOutcome): void {
    for (const answer of this.#commands.get(id) ?? []) answer(outcome);
  }

  #tellAlive(atMostEveryMs: number): void {
    const now = performance.now();
    if (now - this.#toldAliveAt < atMostEveryMs) return;
    this.#toldAliveAt = now;
    // A stream that was not granted has not been answered, however lively the link is.
    for (const { isFlowing, isOver, sink } of this.#streams.values()) if (isFlowing && !isOver) sink.alive();
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

/** Dialect names hold no blank, so no two streams share a key. */
function keyOf(session: string, dialect: string): string {
  return `${dialect} ${session}`;
}

/** The session a `frames` message was for, from its beginning. */
function readSession(head: string): string | undefined {
  const [, text] = /^\{"type":"frames","session":("(?:[^"\\]|\\.)*")/.exec(head) ?? [];
  const name = text === undefined ? undefined : parseJson(text);
  return typeof name === "string" ? name : undefined;
}
