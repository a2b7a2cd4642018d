/**
 * The queued messages of a session, and the callers in this process that wait for their runs. A queued message is a
 * command in the log: it survives the process, and any session with an agent can execute it.
 */
import { randomUUID } from "node:crypto";
import type { CommandState, Log } from "../log/log.ts";
import type { LoomError } from "../protocol/index.ts";
import type { Run } from "./run.ts";
import { type RunOrigin, writeQueuedMessage } from "./run-origin.ts";
import { markHandled } from "./sequencer.ts";
import type { SessionOptions } from "./session-options.ts";

export class RunQueue {
  readonly #log: Log;
  readonly #sessionId: string;
  readonly #options: SessionOptions;
  readonly #onChange: () => void;
  /** By command ID. */
  readonly #waiters = new Map<string, PromiseWithResolvers<Run>>();

  /** `onChange` is called when the number of waiting callers changes. */
  constructor(log: Log, sessionId: string, options: SessionOptions, onChange: () => void) {
    this.#log = log;
    this.#sessionId = sessionId;
    this.#options = options;
    this.#onChange = onChange;
  }

  /** Number of waiting callers. */
  get size(): number {
    return this.#waiters.size;
  }

  /** Adds a message to the durable queue. `turn` resolves to its run. Throws `queue_full`. */
  async enqueue(origin: RunOrigin): Promise<{ readonly turn: Promise<Run> }> {
    const commandId = randomUUID();
    const command = {
      commandId,
      sessionId: this.#sessionId,
      kind: "enqueue",
      body: writeQueuedMessage(origin),
    } as const;
    await this.#log.submit(command, { maxQueued: this.#options.maxQueuedRuns });
    const waiter = Promise.withResolvers<Run>();
    this.#waiters.set(commandId, waiter);
    this.#onChange();
    return { turn: markHandled(waiter.promise) };
  }

  /** Returns the first of the queued messages, if this session can execute it. */
  findNext(queue: readonly CommandState[]): CommandState | undefined {
    const { onRun, acceptsAgent } = this.#options;
    // Without `onRun`, this session executes only messages whose callers wait here.
    const next = queue.find(({ commandId }) => onRun !== undefined || this.#waiters.has(commandId));
    const agent = next?.body["agent"];
    return typeof agent !== "string" || acceptsAgent?.(agent) !== false ? next : undefined;
  }

  /** Gives the run to the caller that waits for it. Returns false if no caller does. */
  resolve(commandId: string, run: Run): boolean {
    const waiter = this.#take(commandId);
    waiter?.resolve(run);
    return waiter !== undefined;
  }

  reject(commandId: string, error: LoomError): void {
    this.#take(commandId)?.reject(error);
  }

  rejectAll(error: LoomError): void {
    for (const commandId of this.#waiters.keys()) this.reject(commandId, error);
  }

  #take(commandId: string): PromiseWithResolvers<Run> | undefined {
    const waiter = this.#waiters.get(commandId);
    this.#waiters.delete(commandId);
    this.#onChange();
    return waiter;
  }
}
