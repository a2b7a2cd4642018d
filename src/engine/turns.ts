/**
 * The messages of a session that wait for their turn, and those of this process who wait with them. A wait is a command
 * in the log: it survives the process, and whoever has an agent for it carries it out.
 */
import { randomUUID } from "node:crypto";
import type { CommandState, Log } from "../log/log.ts";
import { LoomError } from "../protocol/index.ts";
import type { Inbox } from "./inbox.ts";
import type { Run } from "./run.ts";
import type { RunOrigin } from "./run-contract.ts";
import { quiet } from "./sequencer.ts";

export interface TurnsHost {
  readonly log: Log;
  readonly sessionId: string;
  readonly inbox: Inbox;
  readonly maxQueuedRuns: number;
  /** Whether messages that nobody here waits for can be carried out too. */
  readonly carriesOutAll: boolean;
  /** More or fewer wait. */
  onChange(): void;
}

export class Turns {
  readonly #host: TurnsHost;
  /** By command. */
  readonly #waiters = new Map<string, PromiseWithResolvers<Run>>();

  constructor(host: TurnsHost) {
    this.#host = host;
  }

  /** How many wait here. */
  get size(): number {
    return this.#waiters.size;
  }

  /** Puts a message behind the others, durably; the promise is of its run. Code `queue_full`. */
  async enqueue(origin: RunOrigin): Promise<{ readonly turn: Promise<Run> }> {
    const { runId, requestId, message, agent, source, context, attachments, actor, toolRules } = origin;
    const { log, sessionId, inbox, maxQueuedRuns } = this.#host;
    if (inbox.queue.length >= maxQueuedRuns)
      throw new LoomError("queue_full", `${maxQueuedRuns} messages wait already`, { limit: maxQueuedRuns });
    const body = {
      run_id: runId,
      ...(requestId === undefined ? {} : { request_id: requestId }),
      ...(message === undefined ? {} : { message }),
      ...(agent === undefined ? {} : { agent }),
      ...(source === undefined ? {} : { source }),
      ...(context === undefined ? {} : { context }),
      ...(attachments === undefined ? {} : { attachments }),
      ...(actor === undefined ? {} : { actor }),
      ...(toolRules === undefined ? {} : { tools: toolRules }),
    };
    const commandId = randomUUID();
    await log.submit({ commandId, sessionId, kind: "enqueue", body });
    const waiter = Promise.withResolvers<Run>();
    this.#waiters.set(commandId, waiter);
    this.#host.onChange();
    return { turn: quiet(waiter.promise) };
  }

  /** The message that is next, if somebody here can carry it out. */
  findNext(): CommandState | undefined {
    const { inbox, carriesOutAll } = this.#host;
    return inbox.queue.find(({ commandId }) => carriesOutAll || this.#waiters.has(commandId));
  }

  /** Gives the run to whoever waits for it; false when nobody does. */
  give(commandId: string, run: Run): boolean {
    const waiter = this.#take(commandId);
    waiter?.resolve(run);
    return waiter !== undefined;
  }

  refuse(commandId: string, error: LoomError): void {
    this.#take(commandId)?.reject(error);
  }

  refuseAll(error: LoomError): void {
    for (const commandId of this.#waiters.keys()) this.refuse(commandId, error);
  }

  #take(commandId: string): PromiseWithResolvers<Run> | undefined {
    const waiter = this.#waiters.get(commandId);
    this.#waiters.delete(commandId);
    this.#host.onChange();
    return waiter;
  }
}
