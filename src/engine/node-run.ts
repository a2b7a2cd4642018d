/**
 * One node run of a live run: what is emitted through it carries its `node_id`, and it is left exactly once. It knows
 * nothing of how records are stored.
 */
import type { AnyEvent, LoomEvent, MessageChunkEvent, NodeExitEvent } from "../protocol/index.ts";

/** What a node run needs of its run. */
export interface NodeHost {
  emit(event: AnyEvent, options: { readonly nodeId: string }): Promise<number>;
  /** Writes the node_exit. */
  leave(nodeId: string, name: string, result: NodeExitEvent["result"]): Promise<number>;
}

export class NodeRun implements Disposable {
  readonly nodeId: string;
  readonly name: string;
  readonly #host: NodeHost;
  #left: Promise<number> | undefined;

  constructor(host: NodeHost, nodeId: string, name: string) {
    this.#host = host;
    this.nodeId = nodeId;
    this.name = name;
  }

  /** Resolves to the event's id once it is durable. */
  emit(event: LoomEvent | AnyEvent): Promise<number> {
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

  /** The node run did its work. How it was left first is how it was left. */
  done(): Promise<number> {
    return this.#leave("Ok");
  }

  fail(error: unknown): Promise<number> {
    return this.#leave({ Err: describeError(error) });
  }

  /** A `using` block cannot know whether it was left by a throw, so success has to be said by `done`. */
  [Symbol.dispose](): void {
    void this.#leave({ Err: "left without a result" });
  }

  #leave(result: NodeExitEvent["result"]): Promise<number> {
    this.#left ??= this.#host.leave(this.nodeId, this.name, result);
    return this.#left;
  }
}

const MAX_REASON_LENGTH = 1000;

/** What went wrong, in words that fit into a record. */
export function describeError(error: unknown): string {
  try {
    return shorten(String(error instanceof Error ? error.message : error));
  } catch {
    return "an error without words";
  }
}

export function shorten(text: string): string {
  return text.length <= MAX_REASON_LENGTH ? text : `${text.slice(0, MAX_REASON_LENGTH).toWellFormed()}…`;
}
