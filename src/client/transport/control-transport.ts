/**
 * A transport that speaks the control protocol over links it dials: what sockets and in-process pairs have in common. A
 * link is dialled when it is needed and shared by all streams and commands; it is let go when it has been idle, and given
 * up when it is silent although it was pinged.
 *
 * A link carries a session in a dialect once. Whoever wants the same again beside it, as one does to fetch what is
 * missing, gets a second link.
 */
import type { DialectName } from "../../dialects/index.ts";
import { encodeControl } from "../../protocol/control/index.ts";
import type { Refusal, SinkFault, Transport } from "../transport.ts";
import { COMMAND_TIMEOUT_MS, MAX_COMMAND_LENGTH } from "./command-frames.ts";
import { ControlClient } from "./control-client.ts";
import { CLOSED, refuse } from "./refusal.ts";

/** What a link tells of itself. After `lost` it tells no more. */
export interface LinkEvents {
  receive(text: string): void;
  /** A message that could not even be looked at, and how it began, where that is known. */
  fault(reason: SinkFault, detail: string, head?: string): void;
  /** With a refusal: it was ended for good, and so is everything on it. */
  lost(why: string | Refusal): void;
}

export interface Link {
  /** Before the link is up it keeps what it is given. */
  send(text: string): void;
  /** Tells nothing any more. */
  close(): void;
}

/** Does not throw: a link that cannot be had is lost. */
export type Dial = (events: LinkEvents) => Link;

export interface ControlOptions {
  /** How long a command may go unanswered. 15 seconds unless told otherwise. */
  readonly commandTimeoutMs?: number;
  /** Characters of a command; a longer one is refused as `invalid_command`. 65,536 unless told otherwise. */
  readonly maxCommandLength?: number;
  /** After so long without a message the server is pinged, after as long again the link is lost. 20 seconds; 0: never. */
  readonly heartbeatMs?: number;
  /** How long a link that nobody uses is kept. 10 seconds unless told otherwise. */
  readonly idleMs?: number;
  /** Links at once. 4 unless told otherwise. Code `too_many_subscriptions`. */
  readonly maxLinks?: number;
}

export function createControlTransport(dial: Dial, options: ControlOptions = {}): Transport {
  const { commandTimeoutMs = COMMAND_TIMEOUT_MS, maxCommandLength = MAX_COMMAND_LENGTH } = options;
  const { heartbeatMs = 20_000, idleMs = 10_000, maxLinks = 4 } = options;
  const lineOptions = { commandTimeoutMs, maxCommandLength, heartbeatMs, idleMs };
  const lines = new Set<Line>();
  let isClosed = false;

  /** A line that has room for the stream, and has not got it yet; any line, where no stream is meant. */
  const findLine = (session?: string, dialect?: DialectName): Line | undefined => {
    for (const line of lines)
      if (session === undefined || dialect === undefined || line.mayOpen(session, dialect)) return line;
    if (lines.size >= maxLinks) return undefined;
    const line = new Line(dial, { ...lineOptions, onGone: () => void lines.delete(line) });
    lines.add(line);
    line.start();
    return line;
  };

  return {
    async open(request, sink, signal) {
      if (signal.aborted) return { kind: "aborted" };
      if (isClosed) return CLOSED;
      let line = findLine(request.session, request.dialect);
      while (line !== undefined) {
        const outcome = await line.client.open(request, sink, signal);
        if (outcome.kind !== "refused" || outcome.code !== "too_many_subscriptions") return outcome;
        // That link is full; another may have room.
        line.noteFull();
        if (signal.aborted || isClosed) return { kind: "aborted" };
        line = findLine(request.session, request.dialect);
      }
      return refuse("too_many_subscriptions", `none of ${maxLinks} links has room for this stream`);
    },

    send(command, signal) {
      const line = isClosed ? undefined : findLine();
      return line === undefined ? Promise.resolve(CLOSED) : line.client.send(command, signal);
    },

    close() {
      isClosed = true;
      for (const line of lines) line.close();
    },
  };
}

interface LineOptions {
  readonly commandTimeoutMs: number;
  readonly maxCommandLength: number;
  readonly heartbeatMs: number;
  readonly idleMs: number;
  readonly onGone: () => void;
}

/** One link with its client, and the timers that watch over it. */
class Line {
  readonly client: ControlClient;
  readonly #dial: Dial;
  readonly #options: LineOptions;
  #link: Link | undefined;
  #isGone = false;
  /** Streams the server takes on this link, as far as it has said so. */
  #maxStreams = Infinity;
  #lastHeard = 0;
  #hasPinged = false;
  #watch: ReturnType<typeof setTimeout> | undefined;
  #idle: ReturnType<typeof setTimeout> | undefined;

  constructor(dial: Dial, options: LineOptions) {
    this.#dial = dial;
    this.#options = options;
    this.client = new ControlClient({
      commandTimeoutMs: options.commandTimeoutMs,
      maxCommandLength: options.maxCommandLength,
      send: (text) => this.#link?.send(text),
      onIdle: () => this.#waitIdle(),
    });
  }

  mayOpen(session: string, dialect: DialectName): boolean {
    return this.client.streamCount < this.#maxStreams && !this.client.has(session, dialect);
  }

  /** The server takes no more streams on this link than there are. */
  noteFull(): void {
    this.#maxStreams = Math.min(this.#maxStreams, this.client.streamCount);
  }

  start(): void {
    this.#lastHeard = performance.now();
    const { heartbeatMs } = this.#options;
    if (heartbeatMs > 0) this.#watchFor(heartbeatMs);
    this.#waitIdle();
    const link = this.#dial({
      receive: (text) => {
        if (this.#hear()) this.client.receive(text);
      },
      fault: (reason, detail, head) => {
        if (this.#hear()) this.client.fault(reason, detail, head);
      },
      lost: (why) => this.#lose(why),
    });
    // It may have been lost while it was dialled.
    if (this.#isGone) link.close();
    else this.#link = link;
  }

  close(): void {
    if (this.#isGone) return;
    this.#leave();
    this.client.close();
  }

  #lose(why: string | Refusal): void {
    if (this.#isGone) return;
    this.#leave();
    this.client.lose(why);
  }

  /** First of all nobody may find it any more: who is told of the loss may ask again at once. */
  #leave(): void {
    this.#isGone = true;
    clearTimeout(this.#watch);
    clearTimeout(this.#idle);
    this.#options.onGone();
    this.#link?.close();
    this.#link = undefined;
  }

  #hear(): boolean {
    this.#lastHeard = performance.now();
    this.#hasPinged = false;
    return !this.#isGone;
  }

  #waitIdle(): void {
    clearTimeout(this.#idle);
    if (this.#isGone) return;
    this.#idle = setTimeout(() => {
      if (this.client.isIdle) this.close();
    }, this.#options.idleMs);
  }

  /** One timer that looks when it is due, rather than a new one for each message. */
  #watchFor(ms: number): void {
    const { heartbeatMs } = this.#options;
    this.#watch = setTimeout(() => {
      const left = this.#lastHeard + heartbeatMs - performance.now();
      if (left > 0) this.#watchFor(left);
      else if (this.#hasPinged) this.#lose(`nothing was heard for ${2 * heartbeatMs} ms`);
      else {
        this.#hasPinged = true;
        this.#link?.send(encodeControl({ type: "ping" }));
        this.#watchFor(heartbeatMs);
      }
    }, ms);
  }
}
