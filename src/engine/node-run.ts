/**
 * One node run of a live run. Events emitted through it carry its `node_id`, and it ends exactly once. It does not know
 * how records are stored.
 */
import { type AnyEvent, isLoomError, LoomError, type LoomEvent } from "../protocol/index.ts";
import type { MessageChunkEvent, NodeExitEvent, ToolEndEvent } from "../protocol/events.generated.ts";
import { type PushResult, rejectHandled } from "./sequencer.ts";
import { shorten } from "../protocol/cut-text.ts";
import { isAnswerChannel } from "../protocol/record.ts";

/** The part of a run that its node runs use. */
export interface NodeHost {
  emit(event: AnyEvent, options: { readonly nodeId: string }): Promise<number>;
  /** Writes the `node_exit` and the events of `options` in one append. */
  exit(nodeId: string, name: string, result: NodeExitEvent["result"], around: ExitOptions): PushResult;
  /** Describes an error in text that users may see. */
  describe(error: unknown): string;
}

/** Events to write together with the end of a node run. */
export interface ExitOptions {
  /** Events inside the node run, written before its `node_exit`. */
  readonly before?: readonly AnyEvent[];
  /** Events outside any node run, written after its `node_exit`. */
  readonly after?: readonly AnyEvent[];
  /** True if the events are known to be valid and need no check. */
  readonly areChecked?: boolean;
  /** Ends the node run as failed with this error. */
  readonly failure?: { readonly error: unknown } | undefined;
}

const NOTHING: ExitOptions = {};

/** A node run, as returned by `Run.enter`. Emit events through it, then end it with `done` or `fail`. */
export class NodeRun implements Disposable {
  readonly nodeId: string;
  readonly name: string;
  readonly #host: NodeHost;
  #exited: Pick<PushResult, "durable"> | undefined;
  #answered = false;
  #ended: Map<string, ToolEndEvent> | undefined;

  /** @internal */
  constructor(host: NodeHost, nodeId: string, name: string) {
    this.#host = host;
    this.nodeId = nodeId;
    this.name = name;
  }

  /** Emits an event inside the node run. Resolves to the event's ID when it is durable. */
  emit(event: LoomEvent | AnyEvent): Promise<number> {
    if (event.type === "message_chunk") {
      const { channel, content } = event as MessageChunkEvent;
      if (isAnswerChannel(channel) && content !== "") this.#answered = true;
    } else if (event.type === "tool_end") {
      const end = event as ToolEndEvent;
      if (end.call_id !== undefined) (this.#ended ??= new Map()).set(end.call_id, end);
    }
    return this.#host.emit(event, { nodeId: this.nodeId });
  }

  /** Emits a piece of the answer. Set `channel` to `thought` for text that is not part of the answer. */
  write(
    content: string,
    more: Partial<Pick<MessageChunkEvent, "channel" | "format" | "is_complete">> = {},
  ): Promise<number> {
    return this.emit({ type: "message_chunk", content, id: this.name, ...more });
  }

  /** Emits a piece of reasoning, which is never part of the answer. */
  think(content: string, stage?: string): Promise<number> {
    return this.emit({ type: "reasoning_chunk", content, id: this.name, ...(stage === undefined ? {} : { stage }) });
  }

  /**
   * True if the node run has emitted answer text. Such text cannot be taken back, so the node is not retried.
   *
   * @internal
   */
  get hasAnswered(): boolean {
    return this.#answered;
  }

  /** Tool calls that ended in this node run, by call ID. @internal */
  get endedCalls(): ReadonlyMap<string, ToolEndEvent> {
    return this.#ended ?? NONE;
  }

  /** Ends the node run successfully. Has no effect if it has ended before. */
  done(): Promise<number> {
    return this.#exit("Ok");
  }

  /**
   * Ends the node run together with other events, in one append. If they cannot be written, it throws and the node run
   * stays open.
   *
   * @internal
   */
  commit(around: ExitOptions): PushResult {
    if (this.#exited !== undefined)
      throw new LoomError("invalid_event", `Node run ${this.nodeId} ended before its result was written`);
    const { failure } = around;
    const result = failure === undefined ? "Ok" : { Err: this.#host.describe(failure.error) };
    const pushed = this.#host.exit(this.nodeId, this.name, result, around);
    this.#exited = pushed;
    return pushed;
  }

  /**
   * Ends the node run as failed. Has no effect if it has ended before. For an error that is not a `LoomError`, users
   * see only the ID of its report.
   */
  fail(error: unknown): Promise<number> {
    if (this.#exited !== undefined) return this.#exited.durable;
    return this.#exit({ Err: this.#host.describe(error) });
  }

  /** Ends the node run as failed unless `done` was called: a `using` block cannot tell success from an exception. */
  [Symbol.dispose](): void {
    void this.#exit({ Err: "ended without a result" });
  }

  #exit(result: NodeExitEvent["result"]): Promise<number> {
    this.#exited ??= this.#write(result);
    return this.#exited.durable;
  }

  #write(result: NodeExitEvent["result"]): Pick<PushResult, "durable"> {
    try {
      return this.#host.exit(this.nodeId, this.name, result, NOTHING);
    } catch (error) {
      return { durable: rejectHandled(error) };
    }
  }
}

const NONE: ReadonlyMap<string, ToolEndEvent> = new Map();

const MAX_REASON_LENGTH = 1000;

/**
 * Describes an error in text that users may see. The message of a `LoomError` is safe to show. Other messages may
 * contain secrets: they go to `report`, and the text has only the ID of the report.
 */
export function describeError(error: unknown, report?: (error: unknown) => string): string {
  if (isLoomError(error)) return cutReason(error.message);
  if (error instanceof Error && error.name === "AbortError") return "aborted";
  return report === undefined ? "an unexpected error" : `an unexpected error (${report(error)})`;
}

/** The message of an error, for developers. It may contain secrets. */
export function quoteError(error: unknown): string {
  try {
    return cutReason(String(error instanceof Error ? error.message : error));
  } catch {
    return "an error without a message";
  }
}

/** Limits a text that explains why something ended, and repairs it. */
export function cutReason(text: string): string {
  return shorten(text.toWellFormed(), MAX_REASON_LENGTH);
}
