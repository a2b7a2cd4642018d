/**
 * Receives a single message (003 §3): events go in, a callback gets the message. For applications that need no store,
 * sessions or connection. Missing events cannot be requested again, so the handler waits for them only for a short time.
 */
import type { DialectFrames, DialectName } from "../dialects/index.ts";
import { DECODERS } from "../dialects/decoders.ts";
import type { EngineFrame } from "../dialects/engine/frames.generated.ts";
import { parseObject } from "../protocol/json.ts";
import { limitTimer } from "../protocol/limit-timer.ts";
import { INITIAL_STATE } from "./intake/derive-state.ts";
import type { ReceiverLimits } from "./limits.ts";
import type { NotifyMode } from "./notifier.ts";
import { createReceiver, type Receiver } from "./receiver.ts";
import type { Source } from "./source.ts";
import type { MessageState, SessionView, StreamState } from "./view.ts";

/** Options of `MessageStreamHandler`. */
export interface MessageStreamOptions<D extends DialectName = "engine"> {
  /** Dialect of the events. Default: `engine`, as specified in 003. */
  readonly dialect?: D;
  /** Replaces single limits. Default: `RECEIVER_LIMITS`. */
  readonly limits?: Partial<ReceiverLimits>;
  /** When the callback is called. Default: `frame`, once per animation frame. */
  readonly notify?: NotifyMode;
  /**
   * Milliseconds to wait for a missing event. The events after it are then shown, and the status stays `gap`. The end
   * of the request shows them at once. Default: 2,000.
   */
  readonly gapMs?: number;
}

/** An event of 003 §1.2, distinguished by `type`. */
export type SSEEvent = EngineFrame;

const EMPTY: MessageState = {
  messageId: "",
  role: "assistant",
  thinkingContent: "",
  mainContent: "",
  toolCalls: [],
  dataBlocks: [],
  isStreaming: true,
  hasError: false,
  metadata: { requestId: "", startTime: 0 },
  parts: [],
};

const ENDED: MessageState = { ...EMPTY, isStreaming: false };
const GAP_MS = 2000;

/**
 * Collects the events of a stream into the assistant's message of the latest request (003 §3). Duplicate events are
 * dropped, and numbered events that arrive out of order are reordered. A stream that is joined in the middle is shown
 * from there.
 *
 * ```ts
 * const handler = new MessageStreamHandler((message, state) => {
 *   render(message.mainContent, state.status);
 * });
 * for await (const event of events) handler.handleEvent(event);
 * handler.end();
 * ```
 */
export class MessageStreamHandler<D extends DialectName = "engine"> {
  readonly #receiver: Receiver;
  readonly #source: Source;
  readonly #dialect: DialectName;
  readonly #gapMs: number;
  #gapTimer: ReturnType<typeof setTimeout> | undefined;
  /** The end of the request has arrived, so held events are shown at once. */
  #isEnded = false;
  #isOver = false;

  constructor(onChange?: (message: MessageState, state: StreamState) => void, options: MessageStreamOptions<D> = {}) {
    const { dialect = "engine", limits = {}, notify = "frame", gapMs = GAP_MS } = options;
    this.#dialect = dialect;
    this.#gapMs = limitTimer(gapMs);
    this.#receiver = createReceiver({ limits, notify, keepsFrames: true });
    this.#source = this.#receiver.open({ dialect, showsStrays: true });
    if (onChange === undefined) return;
    let notified: readonly unknown[] = [EMPTY, INITIAL_STATE];
    this.#receiver.subscribe(() => {
      const { message, state } = this;
      if (message === notified[0] && state === notified[1]) return;
      notified = [message, state];
      onChange(message, state);
    });
  }

  /** The message with all events so far. Empty until the first event of the assistant's message arrives. */
  get message(): MessageState {
    const messages = this.#session?.turns.at(-1)?.messages ?? [];
    return messages.findLast(({ role }) => role === "assistant") ?? (this.#isOver ? ENDED : EMPTY);
  }

  /** State of the stream: whether everything was received, and how sure that is. */
  get state(): StreamState {
    return this.#session?.state ?? INITIAL_STATE;
  }

  get #session(): SessionView | undefined {
    return this.#receiver.peek(this.#source.current);
  }

  /** Handles one event, given as an object or as its JSON text. `message` and `state` then include it. */
  handleEvent(event: DialectFrames[D] | string): void {
    const text = typeof event === "string" ? event : JSON.stringify(event);
    this.#source.push(text);
    const frame = parseObject(text);
    const { streams } = DECODERS[this.#dialect].traits;
    if (frame !== undefined && streams?.isStart(frame) === true) this.#isEnded = false;
    if (frame !== undefined && streams?.isEnd(frame) === true) this.#isEnded = true;
    if (!this.#source.isMissing) this.#stopTimer();
    else if (this.#isEnded) this.#showHeld();
    else this.#gapTimer ??= setTimeout(() => this.#showHeld(), this.#gapMs);
  }

  /** Ends the stream. A request that has not ended is then shown as cut off. */
  end(): void {
    this.#isOver = true;
    this.#stopTimer();
    this.#source.end();
    this.#receiver.flush();
  }

  #showHeld(): void {
    this.#stopTimer();
    this.#source.giveUp();
  }

  #stopTimer(): void {
    clearTimeout(this.#gapTimer);
    this.#gapTimer = undefined;
  }
}
