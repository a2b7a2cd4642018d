/**
 * Limits how much the tool calls of one host write before the log has room again. Without it, tools that print a lot
 * would fill the backlog of the run and end it.
 */
import type { ToolHost } from "./tool-host.ts";
import { untilAborted } from "../protocol/until-aborted.ts";

/** Approximate bytes written before waiting for the log. */
const MAX_BYTES = 64 * 1024;

export class WriteBudget {
  readonly #host: ToolHost;
  #spent = 0;
  #waiting: Promise<void> | undefined;

  constructor(host: ToolHost) {
    this.#host = host;
  }

  /** Reserves bytes. Returns false if they exceed the budget. A single event always fits an unused budget. */
  take(bytes: number): boolean {
    if (this.#waiting !== undefined || (this.#spent > 0 && this.#spent + bytes > MAX_BYTES)) return false;
    this.#spent += bytes;
    return true;
  }

  /** Resolves when the log has room again. All callers share one wait, and then compete for the budget. */
  wait(): Promise<void> {
    this.#waiting ??= this.#waitForLog();
    return this.#waiting;
  }

  async #waitForLog(): Promise<void> {
    try {
      await this.#host.ready();
    } finally {
      this.#spent = 0;
      this.#waiting = undefined;
    }
  }
}

const budgets = new WeakMap<ToolHost, WriteBudget>();

export function writeBudgetOf(host: ToolHost): WriteBudget {
  let budget = budgets.get(host);
  if (budget === undefined) {
    budget = new WriteBudget(host);
    budgets.set(host, budget);
  }
  return budget;
}

/** Waits until the bytes can be written, and reserves them. */
export async function reserveBytes(host: ToolHost, bytes: number): Promise<void> {
  const budget = writeBudgetOf(host);
  while (!budget.take(bytes)) await untilAborted(budget.wait(), host.signal);
}
