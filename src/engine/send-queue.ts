/**
 * Sends frames one at a time through a function that may be slow, stall or fail. It never blocks the run: frames that
 * cannot be sent are counted and dropped, because the log has them.
 */
import { Buffer } from "node:buffer";
import { LoomError } from "../protocol/index.ts";
import { quoteError } from "./node-run.ts";

/** Sends a frame; may return a promise. Frames are sent one at a time. */
export type Send = (frame: string) => unknown;

/** A frame and whether it was sent. */
export interface SentFrame {
  readonly frame: string;
  /** Milliseconds since 1970, when the frame was queued. */
  readonly time: number;
  /** Why the frame was not sent. Undefined while it is queued and after success. */
  failure?: { readonly code: "send_failed" | "backlog_full"; readonly message: string };
}

/** Maximum bytes in the queue. Beyond it, frames are dropped with the code `backlog_full`. */
const MAX_BYTES = 1024 * 1024;
/** Number of recent frames in `frames`. */
const MAX_FRAMES = 1000;

export class SendQueue {
  readonly #send: Send | undefined;
  readonly #now: () => number;
  readonly #frames: SentFrame[] = [];
  #waiting: Promise<void> | undefined;
  readonly #queue: SentFrame[] = [];
  #bytes = 0;
  failures = 0;

  constructor(send: Send | undefined, now: () => number) {
    this.#send = send;
    this.#now = now;
  }

  /** The most recent frames, oldest first. */
  get frames(): readonly SentFrame[] {
    return this.#frames;
  }

  push(frame: string): void {
    const send = this.#send;
    const sent: SentFrame = { frame, time: this.#now() };
    this.#frames.push(sent);
    if (this.#frames.length > MAX_FRAMES) this.#frames.shift();
    if (send === undefined) return;
    const bytes = Buffer.byteLength(frame);
    if (this.#bytes + bytes > MAX_BYTES) {
      this.#fail(sent, "backlog_full", new LoomError("backlog_full", `The send queue is full (${this.#bytes} bytes)`));
      return;
    }
    this.#bytes += bytes;
    this.#queue.push(sent);
    // Deferred, so that `#waiting` is set before a `send` that throws at once.
    this.#waiting ??= Promise.resolve().then(() => this.#work(send));
  }

  /** Resolves when the queue is empty. */
  async drained(): Promise<void> {
    await this.#waiting;
  }

  async #work(send: Send): Promise<void> {
    for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
      try {
        await send(next.frame);
      } catch (error) {
        this.#fail(next, "send_failed", error);
      }
      this.#bytes -= Buffer.byteLength(next.frame);
    }
    this.#waiting = undefined;
  }

  #fail(sent: SentFrame, code: "send_failed" | "backlog_full", error: unknown): void {
    this.failures++;
    sent.failure = { code, message: quoteError(error) };
  }
}
