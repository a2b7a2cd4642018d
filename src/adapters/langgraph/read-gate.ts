/**
 * Back-pressure for LangGraph, whose streams have no limit: a callback makes the models wait before the next token while
 * the reader of the stream is busy.
 */

/** A list of handlers, or a manager of LangChain that has them. */
interface CallbackManagerFields {
  copy(): { addHandler(handler: unknown, inherit: boolean): void };
}

export class ReadGate {
  /** Settles when the reader asks for more; undefined while it does. */
  #busy: PromiseWithResolvers<void> | undefined;

  /** Yields the items of the stream. Models wait while the consumer handles an item. */
  async *pass<T>(stream: AsyncIterable<T>): AsyncGenerator<T> {
    try {
      for await (const item of stream) {
        this.#busy = Promise.withResolvers();
        yield item;
        this.#open();
      }
    } finally {
      this.#open();
    }
  }

  /** Returns the callbacks with the one of the gate. */
  addTo(callbacks: unknown): unknown {
    const handler = {
      name: "loom-read-gate",
      // Makes LangChain wait for the promise.
      awaitHandlers: true,
      handleLLMNewToken: (): Promise<void> | undefined => this.#busy?.promise,
    };
    if (callbacks === undefined || callbacks === null) return [handler];
    if (Array.isArray(callbacks)) return [...(callbacks as unknown[]), handler];
    const manager = (callbacks as CallbackManagerFields).copy();
    manager.addHandler(handler, true);
    return manager;
  }

  #open(): void {
    this.#busy?.resolve();
    this.#busy = undefined;
  }
}
