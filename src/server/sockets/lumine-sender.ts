/**
 * Writes the frames of a Lumine (004) socket in the order the protocol requires: `session_id` before each request,
 * `[DONE]` after it, and refusals either inside a request or as a separate one. It knows neither runs nor commands.
 */
import { randomUUID } from "node:crypto";
import { DIALECTS } from "../../dialects/index.ts";
import { describeErrorFor } from "../../dialects/lumine/error-texts.ts";
import type { StreamFrame } from "../../log/index.ts";
import type { Language } from "../../protocol/detect-language.ts";
import type { JsonObject } from "../../protocol/index.ts";
import type { FrameBatch } from "../streams/frame-batch.ts";
import type { PeerClient } from "./peer.ts";

const DONE = "[DONE]";
/** The encoder splits text that equals the end mark, so few other frames contain this field. */
const DONE_FIELD = `"content":"${DONE}"`;

/** Why an input was refused. */
export interface LumineRefusal {
  readonly code: string;
  readonly message: string;
}

/** Maximum frames held until the current request ends; further refusals are sent at once. */
const MAX_HELD = 300;

export class LumineSender {
  readonly #client: Pick<PeerClient, "send" | "sendBytes">;
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

  constructor(client: Pick<PeerClient, "send" | "sendBytes">) {
    this.#client = client;
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
    this.#greeting = encodeGreeting(session, isNew);
    this.#client.send(this.#greeting);
  }

  /** Makes `session` the session of the following frames. */
  switchSession(session: string): void {
    if (session === this.#session) return;
    this.#session = session;
    this.#isNew = false;
    this.#greeting = undefined;
  }

  /** Sends frames from the log. */
  forward(batch: FrameBatch): void {
    const { frames } = batch;
    const [first] = frames as readonly [StreamFrame, ...StreamFrame[]];
    // The greeting of a new session was this frame, so do not send it twice.
    const isGreeted = this.#isNew && this.#greeting === first.text;
    this.#greeting = undefined;
    this.#isNew = false;
    if (!isGreeted && this.#held.length === 0) {
      this.#client.sendBytes(batch.bytes("messages"));
      // The last frame usually decides.
      const telling = frames.findLast(({ text }) => !isOutsideRequest(text));
      if (telling !== undefined) this.#isInRequest = !isDone(telling.text);
      return;
    }
    for (const { text } of isGreeted ? frames.slice(1) : frames) {
      this.#client.send(text);
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
    for (const text of texts) this.#client.send(text);
  }

  /** Refuses an input that is not a request: inside the current request, or as a separate one. */
  refuseAside(refusal: LumineRefusal): void {
    if (this.#isInRequest || this.#greeting !== undefined)
      this.#client.send(encodeRefusal(this.#session, this.#isNew, refusal, this.language));
    else this.refuse(refusal);
  }

  sendHeld(): void {
    const held = this.#held;
    this.#held = [];
    for (const text of held) this.#client.send(text);
  }
}

/*
 * Frames that the socket writes itself: greetings, refusals and the end of a request. They are not in the log and have no
 * cursor. An error with `status: "refused"` comes from the socket, not from a run.
 */

/**
 * The greeting of a session: the `session_id` frame that the dialect writes for a run. That of a new session is the first
 * frame of its stream; the others have a conversation ID.
 */
function encodeGreeting(sessionId: string, isNew: boolean): string {
  const [text = ""] = DIALECTS.lumine.createEncoder().encode({
    envelope: { session_id: sessionId, run_id: "", event_id: isNew ? 1 : 2, ts: 0 },
    event: { type: "run_start", run_id: "" },
  });
  return text;
}

/** An error frame for a refused input, in the language of the user. */
function encodeRefusal(
  sessionId: string,
  isNew: boolean,
  { code, message }: LumineRefusal,
  language: Language,
): string {
  return JSON.stringify({
    ...createBaseFrame(sessionId, isNew),
    type: "error",
    status: "refused",
    ...describeErrorFor(language, { code, message }),
    code: code.toUpperCase(),
  });
}

/** The end of a request without a run, or whose stream failed. */
function encodeDone(sessionId: string, isNew: boolean): string {
  return JSON.stringify({ ...createBaseFrame(sessionId, isNew), type: "chunk", content: DONE });
}

function isDone(text: string): boolean {
  if (!text.includes(DONE_FIELD)) return false;
  const { type, content } = JSON.parse(text) as JsonObject;
  return type === "chunk" && content === DONE;
}

/** Whether the frame can occur between requests; it neither starts nor ends one. */
function isOutsideRequest(text: string): boolean {
  return text.startsWith('{"type":"todo_');
}

function createBaseFrame(sessionId: string, isNew: boolean): JsonObject {
  const greeting = JSON.parse(encodeGreeting(sessionId, isNew)) as JsonObject;
  return { ...greeting, id: randomUUID() };
}
