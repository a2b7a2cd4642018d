/**
 * What is said on a socket of 004, frame by frame, so that a client always knows what belongs to which request: a
 * `session_id` before it, `[DONE]` behind it, and nothing between two. It knows neither runs nor commands.
 */
import type { StreamFrame } from "../../log/index.ts";
import type { Chunk } from "../streams/chunk.ts";
import { greet, greetNew, isDone, isOfNoRequest, makeDone, makeRefusal, type Refusal } from "./lumine-frames.ts";

export interface LumineVoiceOptions {
  readonly send: (text: string) => void;
  /** Whole messages of a WebSocket, made once for all readers. */
  readonly sendBytes: (messages: Buffer) => void;
}

/** Frames that are held; what could not be taken beyond them is said at once. */
const MAX_HELD = 300;

export class LumineVoice {
  readonly #options: LumineVoiceOptions;
  /** Of the last request. */
  #session = "";
  /** The session has no records, as far as is known here. */
  #isNew = true;
  /** Sent, and not yet used up by a request. */
  #greeting: string | undefined;
  /** Frames were sent since the last `session_id`, and no [DONE]. */
  #isInRequest = false;
  /** Said when the request that is going has ended. */
  #held: string[] = [];

  constructor(options: LumineVoiceOptions) {
    this.#options = options;
  }

  get session(): string {
    return this.#session;
  }

  get isInRequest(): boolean {
    return this.#isInRequest;
  }

  /** A new session's greeting is the first frame of its stream. */
  greet(session: string, isNew: boolean): void {
    this.#session = session;
    this.#isNew = isNew;
    this.#greeting = isNew ? greetNew(session) : greet(session, false);
    this.#options.send(this.#greeting);
  }

  /** From here on it is about this session. */
  goTo(session: string): void {
    if (session === this.#session) return;
    this.#session = session;
    this.#isNew = false;
    this.#greeting = undefined;
  }

  /** Frames of the log. */
  pass(chunk: Chunk): void {
    const { frames } = chunk;
    const [first] = frames as readonly [StreamFrame, ...StreamFrame[]];
    // The greeting was the same frame: a client that waits for it before it speaks has had it.
    const isGreeted = this.#greeting === first.text;
    this.#greeting = undefined;
    this.#isNew = false;
    if (!isGreeted && this.#held.length === 0) {
      this.#options.sendBytes(chunk.bytes("messages"));
      // Most often the last one tells.
      const telling = frames.findLast(({ text }) => !isOfNoRequest(text));
      if (telling !== undefined) this.#isInRequest = !isDone(telling.text);
      return;
    }
    for (const { text } of isGreeted ? frames.slice(1) : frames) {
      this.#options.send(text);
      if (isOfNoRequest(text)) continue;
      this.#isInRequest = !isDone(text);
      if (!this.#isInRequest) this.sayHeld();
    }
  }

  /** Answers a request without a run. `isBroken`: it had one, whose frames cannot go on. */
  refuse(refusal: Refusal, isBroken = false): void {
    const isOpened = this.#greeting !== undefined || (isBroken && this.#isInRequest);
    const texts = [
      ...(isOpened ? [] : [greet(this.#session, this.#isNew)]),
      makeRefusal(this.#session, this.#isNew, refusal),
      makeDone(this.#session, this.#isNew),
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

  /** Of something that is no request: within the one that is going, or as one of its own. */
  refuseAside(refusal: Refusal): void {
    if (this.#isInRequest || this.#greeting !== undefined)
      this.#options.send(makeRefusal(this.#session, this.#isNew, refusal));
    else this.refuse(refusal);
  }

  sayHeld(): void {
    const held = this.#held;
    this.#held = [];
    for (const text of held) this.#options.send(text);
  }
}
