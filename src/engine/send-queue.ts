/**
 * Sends frames one after the other through a function that may be slow, stall or fail. It never makes the run wait: the
 * log has everything, so what cannot be sent is counted and left out.
 */
import { Buffer } from "node:buffer";
import { LoomError } from "../protocol/index.ts";
import { quoteError } from "./node-run.ts";

export type Send = (frame: string) => unknown;

export interface SentFrame {
  readonly frame: string;
  /** When it was handed over, in milliseconds since 1970. */
  readonly time: number;
  /** Why it was not sent; undefined while it waits, and when all went well. */
  failure?: { readonly code: "send_failed" | "backlog_full"; readonly message: string };
}

export interface SendQueueOptions {
  readonly send?: Send | undefined;
  /** Bytes that wait to be sent; beyond it frames are dropped, with the code `backlog_full`. */
  readonly maxBytes: number;
  /** Frames remembered for whoever debugs. */
  readonly keep: number;
  readonly now: () => number;
}

export class SendQueue {
  readonly #options: SendQueueOptions;
  readonly #frames: SentFrame[] = [];
  #waiting: Promise<void> | undefined;
  readonly #queue: SentFrame[] = [];
  #bytes = 0;
  failures = 0;

  constructor(options: SendQueueOptions) {
    this.#options = options;
  }

  /** The latest frames, oldest first. */
  get frames(): readonly SentFrame[] {
    return this.#frames;
  }

  push(frame: string): void {
    const { send, keep, maxBytes, now } = this.#options;
    const sent: SentFrame = { frame, time: now() };
    this.#frames.push(sent);
    if (this.#frames.length > keep) this.#frames.splice(0, this.#frames.length - keep);
    if (send === undefined) return;
    const bytes = Buffer.byteLength(frame);
    if (this.#bytes + bytes > maxBytes) {
      this.#fail(sent, "backlog_full", new LoomError("backlog_full", `${this.#bytes} bytes wait to be sent`));
      return;
    }
    this.#bytes += bytes;
    this.#queue.push(sent);
    // Not at once: a send that throws at once would end the work before it is known that it began.
    this.#waiting ??= Promise.resolve().then(() => this.#work(send));
  }

  /** Resolves when nothing waits any more. */
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
