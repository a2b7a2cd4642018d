/**
 * A transport that uses the control protocol over links: the common part of sockets and in-process pairs. A link is
 * opened on demand and shared by all streams and commands. It is closed when idle, and considered lost when a ping gets
 * no response or the device goes offline.
 *
 * A link carries a session and dialect only once. A second stream of the same session, for example to fetch missing
 * frames, uses a second link.
 */
import type { DialectName } from "../../dialects/index.ts";
import { encodeControl } from "../../protocol/control/index.ts";
import { onNetwork } from "../connection/clock.ts";
import type { Refusal, SinkFault, Transport } from "../transport.ts";
import { COMMAND_TIMEOUT_MS, MAX_COMMAND_LENGTH } from "./command-frames.ts";
import { ControlClient } from "./control-client.ts";
import { CLOSED, refuse } from "./refusal.ts";

/** Events of a link. After `lost` there are no more. */
export interface ControlLinkEvents {
  receive(text: string): void;
  /** Reports a message that could not be read, with its beginning if known. */
  fault(reason: SinkFault, detail: string, head?: string): void;
  /** The link was lost. A refusal means that the server rejected it, and everything on it fails with that refusal. */
  lost(why: string | Refusal): void;
}

export interface ControlLink {
  /** Sends a message. Messages are queued until the link is open. */
  send(text: string): void;
  /** Closes the link. No further events follow. */
  close(): void;
}

/** Opens a link. Does not throw; a link that cannot be opened reports `lost`. */
export type DialLink = (events: ControlLinkEvents) => ControlLink;

/** Options of all transports that use the control protocol. */
export interface ControlOptions {
  /** How long to wait for the response to a command, in milliseconds. Default: 15,000. */
  readonly commandTimeoutMs?: number;
  /** Maximum length of a command in characters; longer ones are refused as `invalid_command`. Default: 65,536. */
  readonly maxCommandLength?: number;
  /**
   * A link that is silent for this many milliseconds is lost. The server is pinged after half of them. 0 disables
   * both. Default: 20,000.
   */
  readonly heartbeatMs?: number;
  /** How long an unused link stays open, in milliseconds. Default: 10,000. */
  readonly idleMs?: number;
  /** Maximum number of links. Beyond this, streams are refused as `too_many_subscriptions`. Default: 4. */
  readonly maxLinks?: number;
}

/** Creates a transport over the links that `dial` opens. */
export function createControlTransport(dial: DialLink, options: ControlOptions = {}): Transport {
  const { commandTimeoutMs = COMMAND_TIMEOUT_MS, maxCommandLength = MAX_COMMAND_LENGTH } = options;
  const { heartbeatMs = 20_000, idleMs = 10_000, maxLinks = 4 } = options;
  const linkOptions = { commandTimeoutMs, maxCommandLength, heartbeatMs, idleMs };
  const links = new Set<ManagedLink>();
  let isClosed = false;

  /** Returns a link with room for the stream, or, without arguments, any link. Opens a new one if needed. */
  const findLink = (session?: string, dialect?: DialectName): ManagedLink | undefined => {
    for (const link of links)
      if (session === undefined || dialect === undefined || link.mayOpen(session, dialect)) return link;
    if (links.size >= maxLinks) return undefined;
    const link = new ManagedLink(dial, { ...linkOptions, onClosed: () => void links.delete(link) });
    links.add(link);
    link.start();
    return link;
  };

  return {
    async open(request, sink, signal) {
      if (signal.aborted) return { kind: "aborted" };
      if (isClosed) return CLOSED;
      let link = findLink(request.session, request.dialect);
      while (link !== undefined) {
        const outcome = await link.client.open(request, sink, signal);
        if (outcome.kind !== "refused" || outcome.code !== "too_many_subscriptions") return outcome;
        // This link is full, so try another one.
        link.noteFull();
        if (signal.aborted || isClosed) return { kind: "aborted" };
        link = findLink(request.session, request.dialect);
      }
      return refuse("too_many_subscriptions", `All ${maxLinks} links are full; raise maxLinks or close a stream`);
    },

    send(command, signal) {
      const link = isClosed ? undefined : findLink();
      return link === undefined ? Promise.resolve(CLOSED) : link.client.send(command, signal);
    },

    close() {
      isClosed = true;
      for (const link of links) link.close();
    },
  };
}

interface ManagedLinkOptions {
  readonly commandTimeoutMs: number;
  readonly maxCommandLength: number;
  readonly heartbeatMs: number;
  readonly idleMs: number;
  readonly onClosed: () => void;
}

/** A link with its client, heartbeat and idle timer. */
class ManagedLink {
  readonly client: ControlClient;
  readonly #dial: DialLink;
  readonly #options: ManagedLinkOptions;
  #link: ControlLink | undefined;
  #isClosed = false;
  /** Maximum number of streams on this link, once the server has refused one. */
  #maxStreams = Infinity;
  #lastActivity = 0;
  #hasPinged = false;
  #watch: ReturnType<typeof setTimeout> | undefined;
  #idle: ReturnType<typeof setTimeout> | undefined;
  readonly #unlisten = onNetwork("offline", () => this.#handleLoss("The device went offline"));

  constructor(dial: DialLink, options: ManagedLinkOptions) {
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

  /** Records that the server accepts no further streams on this link. */
  noteFull(): void {
    this.#maxStreams = Math.min(this.#maxStreams, this.client.streamCount);
  }

  start(): void {
    this.#lastActivity = performance.now();
    const { heartbeatMs } = this.#options;
    if (heartbeatMs > 0) this.#watchFor(heartbeatMs / 2);
    this.#waitIdle();
    const link = this.#dial({
      receive: (text) => {
        if (this.#noteActivity()) this.client.receive(text);
      },
      fault: (reason, detail, head) => {
        if (this.#noteActivity()) this.client.fault(reason, detail, head);
      },
      lost: (why) => this.#handleLoss(why),
    });
    // The link may be lost before `dial` returns.
    if (this.#isClosed) link.close();
    else this.#link = link;
  }

  close(): void {
    if (this.#isClosed) return;
    this.#detach();
    this.client.close();
  }

  #handleLoss(why: string | Refusal): void {
    if (this.#isClosed) return;
    this.#detach();
    this.client.linkLost(why);
  }

  /** Removes the link first, because callers may reconnect as soon as they are notified. */
  #detach(): void {
    this.#isClosed = true;
    clearTimeout(this.#watch);
    clearTimeout(this.#idle);
    this.#unlisten();
    this.#options.onClosed();
    this.#link?.close();
    this.#link = undefined;
  }

  #noteActivity(): boolean {
    this.#lastActivity = performance.now();
    this.#hasPinged = false;
    return !this.#isClosed;
  }

  #waitIdle(): void {
    clearTimeout(this.#idle);
    if (this.#isClosed) return;
    this.#idle = setTimeout(() => {
      if (this.client.isIdle) this.close();
    }, this.#options.idleMs);
  }

  /** One timer that checks when it is due, instead of a new timer per message. */
  #watchFor(ms: number): void {
    const { heartbeatMs } = this.#options;
    this.#watch = setTimeout(() => {
      const left = this.#lastActivity + heartbeatMs / 2 - performance.now();
      if (left > 0) this.#watchFor(left);
      else if (this.#hasPinged) this.#handleLoss(`The server was silent for ${heartbeatMs} ms`);
      else {
        this.#hasPinged = true;
        this.#link?.send(encodeControl({ type: "ping" }));
        this.#watchFor(heartbeatMs / 2);
      }
    }, ms);
  }
}
