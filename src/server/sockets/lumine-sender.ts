/**
 * Writes the frames of a Lumine (004) socket in the order the protocol requires: `session_id` before each request,
 * `[DONE]` after it, and refusals either inside a request or as a separate one. It knows neither runs nor commands.
 */
import type { StreamFrame } from "../../log/index.ts";
import type { Language } from "../../protocol/detect-language.ts";
import type { Chunk } from "../streams/chunk.ts";
import {
  encodeGreeting,
  encodeNewSessionGreeting,
  isDone,
  isOutsideRequest,
  encodeDone,
  encodeRefusal,
  type LumineRefusal,
} from "./lumine-frames.ts";

export interface LumineSenderOptions {
  readonly send: (text: string) => void;
  /** Sends encoded WebSocket messages, which are shared by all readers. */
  readonly sendBytes: (messages: Buffer) => void;
}

/** Maximum frames held until the current request ends; further refusals are sent at once. */
const MAX_HELD = 300;

export class LumineSender {
  readonly #options: LumineSenderOptions;
  /** Language of the latest message, for refusals. */
  language: Language = "en";
  /** The session of the current request. */
  #session = "";
  /** The session has no records as far as this connection knows. */
  #isNew = true;
  /** The greeting, if it was sent and no request has used it yet. */
  #greeting: string | undefined;
  /** Frames were sent after the last `session_id`, and no [DONE] yet. */
  #isInRequest = false;
  /** Sent when the current request ends. */
  #held: string[] = [];

  constructor(options: LumineSenderOptions) {
    this.#options = options;
  }

  get session(): string {
    return this.#session;
  }

  get isInRequest(): boolean {
    return this.#isInRequest;
  }

  /** Greets the client. The greeting of a new session is the first frame of its stream. */
  greet(session: string, isNew: boolean): void {
    this.#session = session;
    this.#isNew = isNew;
    this.#greeting = isNew ? encodeNewSessionGreeting(session) : encodeGreeting(session, false);
    this.#options.send(this.#greeting);
  }

  /** Makes `session` the session of the following frames. */
  switchSession(session: string): void {
    if (session === this.#session) return;
    this.#session = session;
    this.#isNew = false;
    this.#greeting = undefined;
  }

  /** Sends frames from the log. */
  forward(chunk: Chunk): void {
    const { frames } = chunk;
    const [first] = frames as readonly [StreamFrame, ...StreamFrame[]];
    // The greeting of a new session was this frame, so do not send it twice.
    const isGreeted = this.#isNew && this.#greeting === first.text;
    this.#greeting = undefined;
    this.#isNew = false;
    if (!isGreeted && this.#held.length === 0) {
      this.#options.sendBytes(chunk.bytes("messages"));
      // The last frame usually decides.
      const telling = frames.findLast(({ text }) => !isOutsideRequest(text));
      if (telling !== undefined) this.#isInRequest = !isDone(telling.text);
      return;
    }
    for (const { text } of isGreeted ? frames.slice(1) : frames) {
      this.#options.send(text);
      if (isOutsideRequest(text)) continue;
      this.#isInRequest = !isDone(text);
      if (!this.#isInRequest) this.sendHeld();
    }
  }

  /** Answers a request without a run. `isBroken`: its run had started and its stream failed. */
  refuse(refusal: LumineRefusal, isBroken = false): void {
    const isOpened = this.#greeting !== undefined || (isBroken && this.#isInRequest);
    const texts = [
      ...(isOpened ? [] : [encodeGreeting(this.#session, this.#isNew)]),
      encodeRefusal(this.#session, this.#isNew, refusal, this.language),
      encodeDone(this.#session, this.#isNew),
    ];
    if (this.#isInRequest && !isBroken) {
      if (this.#held.length < MAX_HELD) this.#held.push(...texts);
      else this.refuseAside(refusal);
      return;
    }
    this.#greeting = undefined;
    this.#isInRequest = false;
    for (const text of texts) this.#options.send(text);
  }

  /** Refuses an input that is not a request: inside the current request, or as a separate one. */
  refuseAside(refusal: LumineRefusal): void {
    if (this.#isInRequest || this.#greeting !== undefined)
      this.#options.send(encodeRefusal(this.#session, this.#isNew, refusal, this.language));
    else this.refuse(refusal);
  }

  sendHeld(): void {
    const held = this.#held;
    this.#held = [];
    for (const text of held) this.#options.send(text);
  }
}
