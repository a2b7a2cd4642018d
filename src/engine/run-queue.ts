/**
 * The queued messages of a session, and the callers in this process that wait for their runs. A queued message is a
 * command in the log: it survives the process, and any session with an agent can execute it.
 */
import { randomUUID } from "node:crypto";
import type { CommandState, Log } from "../log/log.ts";
import type { LoomError } from "../protocol/index.ts";
import type { Inbox } from "./inbox.ts";
import type { Run } from "./run.ts";
import { type RunOrigin, writeQueuedMessage } from "./run-origin.ts";
import { markHandled } from "./sequencer.ts";

export interface RunQueueHost {
  readonly log: Log;
  readonly sessionId: string;
  readonly inbox: Inbox;
  readonly maxQueuedRuns: number;
  /** True if this session also executes messages that no caller here waits for. */
  readonly runsAllMessages: boolean;
  readonly acceptsAgent: ((name: string) => boolean) | undefined;
  /** The number of waiting callers changed. */
  onChange(): void;
}

export class RunQueue {
  readonly #host: RunQueueHost;
  /** By command ID. */
  readonly #waiters = new Map<string, PromiseWithResolvers<Run>>();

  constructor(host: RunQueueHost) {
    this.#host = host;
  }

  /** Number of waiting callers. */
  get size(): number {
    return this.#waiters.size;
  }

  /** Adds a message to the durable queue. `turn` resolves to its run. Throws `queue_full`. */
  async enqueue(origin: RunOrigin): Promise<{ readonly turn: Promise<Run> }> {
    const { log, sessionId, maxQueuedRuns } = this.#host;
    const body = writeQueuedMessage(origin);
    const commandId = randomUUID();
    await log.submit({ commandId, sessionId, kind: "enqueue", body }, { maxQueued: maxQueuedRuns });
    const waiter = Promise.withResolvers<Run>();
    this.#waiters.set(commandId, waiter);
    this.#host.onChange();
    return { turn: markHandled(waiter.promise) };
  }

  /** Returns the first queued message, if this session can execute it. */
  findNext(): CommandState | undefined {
    const { inbox, runsAllMessages, acceptsAgent } = this.#host;
    const next = inbox.queue.find(({ commandId }) => runsAllMessages || this.#waiters.has(commandId));
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
    this.#host.onChange();
    return waiter;
  }
}
