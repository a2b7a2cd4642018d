/**
 * The control protocol over a WebSocket: `WS /v1/ws`, shared by everything that goes through the transport. It knows
 * sockets and nothing of what is said over them.
 */
import type { Refusal, Transport } from "../transport.ts";
import { askAccess } from "./ask-access.ts";
import { type ControlOptions, createControlTransport, type Link, type LinkEvents } from "./control-transport.ts";
import { fetchTicket } from "./fetch-ticket.ts";
import { readRefusal } from "./refusal.ts";
import type { Token } from "./token.ts";

export interface WebSocketTransportOptions extends ControlOptions {
  /** The address of the socket. A function is asked for each socket. */
  readonly url: string | (() => string | Promise<string>);
  /** What the client is known by: a ticket is fetched with it for each socket, from `auth/tickets` beside the socket. */
  readonly token?: Token;
  /** The page has signed in, and its cookie lets it in: of a socket that does not open, `auth` beside it is asked why. */
  readonly usesCookie?: boolean;
  /** In place of the global one, for tickets and for `auth`. */
  readonly fetch?: (request: Request) => Promise<Response>;
  /** In place of the global one. */
  readonly WebSocket?: SocketConstructor;
  readonly protocols?: readonly string[];
  /** The longest message; a longer one is a fault. 16 MiB unless told otherwise. */
  readonly maxFrameBytes?: number;
  /** How long a socket may take to open. 10 seconds unless told otherwise. */
  readonly connectTimeoutMs?: number;
}

/** What is needed of a WebSocket: that of browsers and Node, and of the package `ws`. */
export interface SocketLike {
  send(text: string): void;
  close(): void;
  /** Ends without waiting for the other end; not every kind has it. */
  terminate?(): void;
  addEventListener(type: "open" | "error", listener: () => void): void;
  addEventListener(type: "message", listener: (event: { readonly data: unknown }) => void): void;
  addEventListener(type: "close", listener: (event: { readonly code: number; readonly reason: string }) => void): void;
}

export type SocketConstructor = new (url: string, protocols?: string[]) => SocketLike;

const DEFAULT_MAX_FRAME_BYTES = 16 * 1024 * 1024;
/** As much of a message that is too long is told, so that the stream it was for can be found. */
const HEAD_LENGTH = 2000;
/** RFC 6455: what was asked is against the rules, and will be if it is asked again. */
const NOT_ALLOWED = 1008;

export function createWebSocketTransport(options: WebSocketTransportOptions): Transport {
  return createControlTransport((events) => new SocketLink(options, events), options);
}

class SocketLink implements Link {
  readonly #options: WebSocketTransportOptions;
  readonly #events: LinkEvents;
  readonly #maxBytes: number;
  /** What was said before the socket was open. Each is of a stream or a command, whose numbers are limited. */
  #early: string[] | undefined = [];
  readonly #closing = new AbortController();
  #socket: SocketLike | undefined;
  #isOver = false;
  #timer: ReturnType<typeof setTimeout>;

  constructor(options: WebSocketTransportOptions, events: LinkEvents) {
    this.#options = options;
    this.#events = events;
    this.#maxBytes = options.maxFrameBytes ?? DEFAULT_MAX_FRAME_BYTES;
    const { connectTimeoutMs = 10_000 } = options;
    this.#timer = setTimeout(() => this.#lose(`no socket within ${connectTimeoutMs} ms`), connectTimeoutMs);
    void this.#connect();
  }

  send(text: string): void {
    if (this.#early !== undefined) this.#early.push(text);
    else if (!this.#isOver) this.#write(text);
  }

  close(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#closing.abort();
    // A peer that is gone would keep a polite goodbye waiting, and the process with it.
    if (typeof this.#socket?.terminate === "function") this.#socket.terminate();
    else this.#socket?.close();
  }

  async #connect(): Promise<void> {
    try {
      const { url, protocols, token, usesCookie, fetch: ask = (request) => fetch(request) } = this.#options;
      let address = typeof url === "string" ? url : await url();
      if (token !== undefined) {
        const found = await fetchTicket(address, { token, fetch: ask, signal: this.#closing.signal });
        if ("kind" in found) {
          this.#lose(found.kind === "lost" ? found.message : found);
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
      // The event tells nothing; the close that follows it does.
      socket.addEventListener("error", () => undefined);
      socket.addEventListener("close", ({ code, reason }) => {
        const what = `the socket was closed with ${code}${reason === "" ? "" : `: ${reason}`}`;
        // A token may have changed: whoever asks for the next ticket is told whether it is good.
        const isMeant = code === NOT_ALLOWED && token === undefined;
        if (isMeant) this.#lose(readRefusal({ code: reason.split(" ", 1)[0], message: what }, what));
        else if (usesCookie !== true || this.#early === undefined || this.#isOver) this.#lose(what);
        else void askAccess(address, ask, this.#closing.signal).then((refusal) => this.#lose(refusal ?? what));
      });
    } catch (error) {
      this.#lose(error instanceof Error ? error.message : String(error));
    }
  }

  #flush(): void {
    clearTimeout(this.#timer);
    const early = this.#early ?? [];
    this.#early = undefined;
    for (const text of early) if (!this.#isOver) this.#write(text);
  }

  #write(text: string): void {
    try {
      this.#socket?.send(text);
    } catch (error) {
      this.#lose(error instanceof Error ? error.message : String(error));
    }
  }

  #receive(data: unknown): void {
    if (this.#isOver) return;
    if (typeof data !== "string") this.#events.fault("invalid_control", "a message that is no text");
    else if (this.#isTooLong(data)) this.#tellTooLong(data);
    else this.#events.receive(data);
  }

  #tellTooLong(text: string): void {
    this.#events.fault("line_too_long", `longer than ${this.#maxBytes} bytes`, text.slice(0, HEAD_LENGTH));
  }

  /** A character has one to three bytes, so most texts need no measuring. */
  #isTooLong(text: string): boolean {
    if (text.length * 3 <= this.#maxBytes) return false;
    return text.length > this.#maxBytes || new TextEncoder().encode(text).length > this.#maxBytes;
  }

  #lose(why: string | Refusal): void {
    if (this.#isOver) return;
    this.close();
    this.#events.lost(why);
  }
}
