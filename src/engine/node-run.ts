/**
 * One node run of a live run: what is emitted through it carries its `node_id`, and it is left exactly once. It knows
 * nothing of how records are stored.
 */
import {
  type AnyEvent,
  isLoomError,
  LoomError,
  type LoomEvent,
  type MessageChunkEvent,
  type NodeExitEvent,
  type ToolEndEvent,
} from "../protocol/index.ts";
import { type Pushed, refuse } from "./sequencer.ts";

/** What a node run needs of its run. */
export interface NodeHost {
  emit(event: AnyEvent, options: { readonly nodeId: string }): Promise<number>;
  /** Writes the node_exit, with the events before it inside the node run and those after it outside, in one append. */
  leave(nodeId: string, name: string, result: NodeExitEvent["result"], around: Around): Pushed;
  /** What went wrong, in words that may be shown. */
  describe(error: unknown): string;
}

/** What is written together with the end of a node run. */
export interface Around {
  /** These belong to the node run. */
  readonly before?: readonly AnyEvent[];
  /** These belong to none. */
  readonly after?: readonly AnyEvent[];
  /** They are right, and need not be checked: whoever made them made them so. */
  readonly areChecked?: boolean;
  /** The node run has failed with this, and its end is all the same a result. */
  readonly failure?: { readonly error: unknown } | undefined;
}

const NOTHING: Around = {};

export class NodeRun implements Disposable {
  readonly nodeId: string;
  readonly name: string;
  readonly #host: NodeHost;
  #left: Pick<Pushed, "durable"> | undefined;
  #answered = false;
  #ended: Map<string, ToolEndEvent> | undefined;

  constructor(host: NodeHost, nodeId: string, name: string) {
    this.#host = host;
    this.nodeId = nodeId;
    this.name = name;
  }

  /** Resolves to the event's id once it is durable. */
  emit(event: LoomEvent | AnyEvent): Promise<number> {
    if (event.type === "message_chunk") this.#noteChunk(event as MessageChunkEvent);
    else if (event.type === "tool_end") this.#noteEnd(event as ToolEndEvent);
    return this.#host.emit(event, { nodeId: this.nodeId });
  }

  /** A piece of the answer; `more` can put it on the channel `thought`. */
  write(content: string, more: Partial<Pick<MessageChunkEvent, "channel" | "format" | "is_complete">> = {}) {
    return this.emit({ type: "message_chunk", content, id: this.name, ...more });
  }

  /** A piece of reasoning, which is never part of the answer. */
  think(content: string, stage?: string): Promise<number> {
    return this.emit({ type: "reasoning_chunk", content, id: this.name, ...(stage === undefined ? {} : { stage }) });
  }

  /** It has sent answer text, which cannot be taken back. */
  get answered(): boolean {
    return this.#answered;
  }

  /** Tool calls that have ended in it, by their id. */
  get endedCalls(): ReadonlyMap<string, ToolEndEvent> {
    return this.#ended ?? NONE;
  }

  #noteChunk({ channel, content }: MessageChunkEvent): void {
    if (channel !== "thought" && content !== "") this.#answered = true;
  }

  #noteEnd(event: ToolEndEvent): void {
    if (event.call_id !== undefined) (this.#ended ??= new Map()).set(event.call_id, event);
  }

  /** The node run did its work. How it was left first is how it was left. */
  done(): Promise<number> {
    return this.#leave("Ok");
  }

  /** The same together with events, in one append. Throws, and has left nothing, where they cannot be written. */
  commit(around: Around): Pushed {
    if (this.#left !== undefined)
      throw new LoomError("invalid_event", `node run ${this.nodeId} was left before its result was there`);
    const { failure } = around;
    const result = failure === undefined ? "Ok" : { Err: this.#host.describe(failure.error) };
    const pushed = this.#host.leave(this.nodeId, this.name, result, around);
    this.#left = pushed;
    return pushed;
  }

  /** The node run failed. Of errors that are not ours its record has an id only, under which the program was told. */
  fail(error: unknown): Promise<number> {
    if (this.#left !== undefined) return this.#left.durable;
    return this.#leave({ Err: this.#host.describe(error) });
  }

  /** A `using` block cannot know whether it was left by a throw, so success has to be said by `done`. */
  [Symbol.dispose](): void {
    void this.#leave({ Err: "left without a result" });
  }

  #leave(result: NodeExitEvent["result"]): Promise<number> {
    this.#left ??= this.#write(result);
    return this.#left.durable;
  }

  #write(result: NodeExitEvent["result"]): Pick<Pushed, "durable"> {
    try {
      return this.#host.leave(this.nodeId, this.name, result, NOTHING);
    } catch (error) {
      return { durable: refuse(error) };
    }
  }
}

const NONE: ReadonlyMap<string, ToolEndEvent> = new Map();

const MAX_REASON_LENGTH = 1000;

/**
 * What went wrong, in words that may be shown: errors of ours have them. What others say may hold what is nobody's
 * business; `report` tells the program instead, and gives the id to ask for.
 */
export function describeError(error: unknown, report?: (error: unknown) => string): string {
  if (isLoomError(error)) return shorten(error.message);
  if (error instanceof Error && error.name === "AbortError") return "aborted";
  return report === undefined ? "an unexpected error" : `an unexpected error (${report(error)})`;
}

/** What an error says, for the program alone. */
export function quoteError(error: unknown): string {
  try {
    return shorten(String(error instanceof Error ? error.message : error));
  } catch {
    return "an error without words";
  }
}

export function shorten(text: string): string {
  return text.length <= MAX_REASON_LENGTH ? text : `${text.slice(0, MAX_REASON_LENGTH).toWellFormed()}…`;
}
