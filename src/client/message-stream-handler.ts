/**
 * Receives a single message (003 §3): events go in, a callback gets the message. For applications that need no store,
 * sessions or connection.
 */
import type { DialectName } from "../dialects/index.ts";
import type { JsonObject } from "../protocol/index.ts";
import { INITIAL_STATE } from "./intake/derive-state.ts";
import type { ReceiverLimits } from "./limits.ts";
import type { NotifyMode } from "./notifier.ts";
import { createReceiver, type Receiver } from "./receiver.ts";
import type { Source } from "./source.ts";
import type { MessageState, SessionView, StreamState } from "./view.ts";

/** Options of `MessageStreamHandler`. */
export interface MessageStreamOptions {
  /** Dialect of the events. Default: `engine`, as specified in 003. */
  readonly dialect?: DialectName;
  /** Replaces single limits. Default: `RECEIVER_LIMITS`. */
  readonly limits?: Partial<ReceiverLimits>;
  /** When the callback is called. Default: `frame`, once per animation frame. */
  readonly notify?: NotifyMode;
}

/** An event of 003 §1.2, or of the dialect given in the options. */
export type SSEEvent = { readonly type?: string; readonly data?: unknown; readonly metadata?: unknown };

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

/**
 * Collects the events of a stream into the assistant's message of the latest request (003 §3). Duplicate events are
 * dropped, and numbered events that arrive out of order are reordered.
 *
 * ```ts
 * const handler = new MessageStreamHandler((message, state) => {
 *   render(message.mainContent, state.status);
 * });
 * for await (const event of events) handler.handleEvent(event);
 * handler.end();
 * ```
 */
export class MessageStreamHandler {
  readonly #receiver: Receiver;
  readonly #source: Source;
  #isOver = false;

  constructor(onChange?: (message: MessageState, state: StreamState) => void, options: MessageStreamOptions = {}) {
    const { dialect = "engine", limits = {}, notify = "frame" } = options;
    this.#receiver = createReceiver({ limits, notify });
    this.#source = this.#receiver.open({ dialect });
    if (onChange === undefined) return;
    let notified: readonly unknown[] = [EMPTY, INITIAL_STATE];
    this.#receiver.subscribe(() => {
      const { message, state } = this;
      if (message === notified[0] && state === notified[1]) return;
      notified = [message, state];
      onChange(message, state);
    });
  }

  /** The current message. Empty until the first event of the assistant's message arrives. */
  get message(): MessageState {
    const messages = this.#session?.turns.at(-1)?.messages ?? [];
    return messages.findLast(({ role }) => role === "assistant") ?? (this.#isOver ? ENDED : EMPTY);
  }

  /** State of the stream: whether everything was received, and how sure that is. */
  get state(): StreamState {
    return this.#session?.state ?? INITIAL_STATE;
  }

  get #session(): SessionView | undefined {
    return this.#receiver.session(this.#source.current).getSnapshot();
  }

  /** Handles one event, given as an object or as its JSON text. */
  handleEvent(event: SSEEvent | JsonObject | string): void {
    this.#source.push(typeof event === "string" ? event : JSON.stringify(event));
  }

  /** Ends the stream. A request that has not ended is then shown as cut off. */
  end(): void {
    this.#isOver = true;
    this.#source.end();
    this.#receiver.flush();
  }
}
