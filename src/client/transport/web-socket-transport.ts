/**
 * The WebSocket transport: the control protocol over `WS /v1/ws`, shared by all streams and commands. It handles
 * sockets and does not read the messages.
 */
import type { Refusal, Transport } from "../transport.ts";
import { explainFailure } from "./find-access-refusal.ts";
import {
  type ControlOptions,
  createControlTransport,
  type ControlLink,
  type ControlLinkEvents,
} from "./control-transport.ts";
import { fetchTicket } from "./fetch-ticket.ts";
import { readRefusal } from "./refusal.ts";
import type { ClientToken } from "./client-token.ts";

/** Options of `createWebSocketTransport`. */
export interface WebSocketTransportOptions extends ControlOptions {
  /** URL of the socket, or a function that returns it. The function is called for every socket. */
  readonly url: string | (() => string | Promise<string>);
  /** Token of the client. For each socket it is exchanged for a ticket at `auth/tickets`, next to the socket's path. */
  readonly token?: ClientToken;
  /**
   * Whether the client may be a page, with an origin and a cookie. If a socket does not open, the transport then asks
   * `auth`, next to the socket's path, whether the origin is allowed and the page is signed in. Default: true on a page.
   */
  readonly usesCookie?: boolean;
  /** Replaces the global `fetch`, which is used for `auth` and tickets. */
  readonly fetch?: (request: Request) => Promise<Response>;
  /** Replaces the global `WebSocket`. */
  readonly WebSocket?: SocketConstructor;
  /** Subprotocols offered when the socket opens. Default: none. */
  readonly protocols?: readonly string[];
  /** Maximum length of a message in bytes; longer ones are reported as faults. Default: 16,777,216 (16 MiB). */
  readonly maxFrameBytes?: number;
  /** How long a socket may take to open, in milliseconds. Default: 10,000. */
  readonly connectTimeoutMs?: number;
}

/** The part of a WebSocket that is used: the same in browsers, Node and the `ws` package. */
export interface SocketLike {
  send(text: string): void;
  close(): void;
  /** Closes without the closing handshake; not available everywhere. */
  terminate?(): void;
  addEventListener(type: "open" | "error", listener: () => void): void;
  addEventListener(type: "message", listener: (event: { readonly data: unknown }) => void): void;
  addEventListener(type: "close", listener: (event: { readonly code: number; readonly reason: string }) => void): void;
}

/** Constructor of a WebSocket class. */
export type SocketConstructor = new (url: string, protocols?: string[]) => SocketLike;

const DEFAULT_MAX_FRAME_BYTES = 16 * 1024 * 1024;
/** Reported characters of an overlong message, enough to find its stream. */
const HEAD_LENGTH = 2000;
/** RFC 6455: policy violation. The same request would be rejected again. */
const POLICY_VIOLATION = 1008;

/**
 * Creates a transport over WebSockets. All streams and commands share one socket, up to the limits of the server.
 *
 * ```ts
 * const transport = createWebSocketTransport({ url: "ws://127.0.0.1:10338/v1/ws" });
 * ```
 */
export function createWebSocketTransport(options: WebSocketTransportOptions): Transport {
  return createControlTransport((events) => new SocketLink(options, events), options);
}

class SocketLink implements ControlLink {
  readonly #options: WebSocketTransportOptions;
  readonly #events: ControlLinkEvents;
  readonly #maxBytes: number;
  /** Messages sent before the socket opened. Their number is limited by the limits on streams and commands. */
  #queued: string[] | undefined = [];
  readonly #closing = new AbortController();
  #socket: SocketLike | undefined;
  #isOver = false;
  #timer: ReturnType<typeof setTimeout>;

  constructor(options: WebSocketTransportOptions, events: ControlLinkEvents) {
    this.#options = options;
    this.#events = events;
    this.#maxBytes = options.maxFrameBytes ?? DEFAULT_MAX_FRAME_BYTES;
    const { connectTimeoutMs = 10_000 } = options;
    this.#timer = setTimeout(
      () => this.#fail(`The socket did not open within ${connectTimeoutMs} ms`),
      connectTimeoutMs,
    );
    void this.#connect();
  }

  send(text: string): void {
    if (this.#queued !== undefined) this.#queued.push(text);
    else if (!this.#isOver) this.#write(text);
  }

  close(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#closing.abort();
    // A closing handshake with an unreachable peer would keep the process alive.
    if (typeof this.#socket?.terminate === "function") this.#socket.terminate();
    else this.#socket?.close();
  }

  async #connect(): Promise<void> {
    try {
      const { url, protocols, token, fetch: ask = (request) => fetch(request) } = this.#options;
      const { usesCookie: asksWhy = globalThis.location !== undefined } = this.#options;
      let address = typeof url === "string" ? url : await url();
      if (token !== undefined) {
        const found = await fetchTicket(address, { token, fetch: ask, signal: this.#closing.signal });
        if ("kind" in found) {
          this.#fail(found.kind === "lost" ? found.message : found);
          return;
        }
        address = found.url;
      }
      if (this.#isOver) return;
      const Socket: SocketConstructor = this.#options.WebSocket ?? globalThis.WebSocket;
      const socket = protocols === undefined ? new Socket(address) : new Socket(address, [...protocols]);
      this.#socket = socket;
      socket.addEventListener("open", () => this.#flush());
      socket.addEventListener("message", ({ data }) => this.#receive(data));
      // The error event has no details; the close event that follows has.
      socket.addEventListener("error", () => undefined);
      socket.addEventListener("close", ({ code, reason }) => {
        const message = `The socket was closed with code ${code}${reason === "" ? "" : `: ${reason}`}`;
        // With a token the refusal may be outdated; fetching the next ticket shows whether the token is valid.
        const isFinal = code === POLICY_VIOLATION && token === undefined;
        if (isFinal) this.#fail(readRefusal({ code: reason.split(" ", 1)[0], message }, message));
        else if (!asksWhy || this.#queued === undefined || this.#isOver) this.#fail(message);
        else {
          const hasCredentials = token !== undefined || /[?&]ticket=/.test(address);
          const failed = { message, url: address, fetch: ask, signal: this.#closing.signal, hasCredentials };
          void explainFailure(failed).then((why) => this.#fail(why));
        }
      });
    } catch (error) {
      this.#fail(error instanceof Error ? error.message : String(error));
    }
  }

  #flush(): void {
    clearTimeout(this.#timer);
    const queued = this.#queued ?? [];
    this.#queued = undefined;
    for (const text of queued) if (!this.#isOver) this.#write(text);
  }

  #write(text: string): void {
    try {
      this.#socket?.send(text);
    } catch (error) {
      this.#fail(error instanceof Error ? error.message : String(error));
    }
  }

  #receive(data: unknown): void {
    if (this.#isOver) return;
    if (typeof data !== "string") this.#events.fault("invalid_control", "Received a message that is not text");
    else if (this.#isTooLong(data)) this.#reportTooLong(data);
    else this.#events.receive(data);
  }

  #reportTooLong(text: string): void {
    this.#events.fault(
      "line_too_long",
      `The message is longer than ${this.#maxBytes} bytes`,
      text.slice(0, HEAD_LENGTH),
    );
  }

  /** A UTF-16 unit has one to three bytes in UTF-8, so most texts need no measuring. */
  #isTooLong(text: string): boolean {
    if (text.length * 3 <= this.#maxBytes) return false;
    return text.length > this.#maxBytes || new TextEncoder().encode(text).length > this.#maxBytes;
  }

  #fail(why: string | Refusal): void {
    if (this.#isOver) return;
    this.close();
    this.#events.lost(why);
  }
}
