/**
 * One message as it streams in (003 §3): events go in, one callback is told of the message. For those who want no store,
 * no sessions and no connection. The message is the assistant's of the latest request the handler was shown.
 */
import type { DialectName } from "../dialects/index.ts";
import type { JsonObject } from "../protocol/index.ts";
import { INITIAL_STATE } from "./intake/state.ts";
import type { ReceiverLimits } from "./limits.ts";
import type { NotifyMode } from "./notifier.ts";
import { createReceiver, type Receiver } from "./receiver.ts";
import type { Source } from "./source.ts";
import type { MessageState, SessionView, StreamState } from "./view.ts";

export interface MessageStreamOptions {
  /** `engine`, which 003 specifies, unless said otherwise. */
  readonly dialect?: DialectName;
  readonly limits?: Partial<ReceiverLimits>;
  readonly notify?: NotifyMode;
}

/** An event of 003 §1.2, or of another dialect where the handler was told so. */
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

export class MessageStreamHandler {
  readonly #receiver: Receiver;
  readonly #source: Source;
  #isOver = false;

  constructor(onChange?: (message: MessageState, state: StreamState) => void, options: MessageStreamOptions = {}) {
    const { dialect = "engine", limits = {}, notify = "frame" } = options;
    this.#receiver = createReceiver({ limits, notify });
    this.#source = this.#receiver.open({ dialect });
    if (onChange === undefined) return;
    let told: readonly unknown[] = [EMPTY, INITIAL_STATE];
    this.#receiver.subscribe(() => {
      const { message, state } = this;
      if (message === told[0] && state === told[1]) return;
      told = [message, state];
      onChange(message, state);
    });
  }

  /** The message as it stands. */
  get message(): MessageState {
    const messages = this.#session?.turns.at(-1)?.messages ?? [];
    return messages.findLast(({ role }) => role === "assistant") ?? (this.#isOver ? ENDED : EMPTY);
  }

  /** How far the message can be vouched for. */
  get state(): StreamState {
    return this.#session?.state ?? INITIAL_STATE;
  }

  get #session(): SessionView | undefined {
    return this.#receiver.session(this.#source.current).getSnapshot();
  }

  /** One event, parsed or as its JSON text. */
  handleEvent(event: SSEEvent | JsonObject | string): void {
    this.#source.push(typeof event === "string" ? event : JSON.stringify(event));
  }

  /** The stream is over: a request that has not ended was cut. */
  end(): void {
    this.#isOver = true;
    this.#source.end();
    this.#receiver.flush();
  }
}
