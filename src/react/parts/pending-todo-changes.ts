/**
 * Optimistic changes to a to-do list. A change shows at once; it is dropped when the session confirms it, or reverted
 * when the server rejects it. Each item has at most one request in flight, so quick changes cannot overtake each other.
 */
import type { CommandResult } from "../../client/index.ts";
import type { TodoItem } from "../../client/view.ts";

export interface FailedTodoChange {
  readonly itemId: string;
  readonly outcome: CommandResult;
}

/** How long an accepted change is shown while the session does not confirm it. */
const CONFIRM_TIMEOUT_MS = 10_000;

interface PendingChange {
  wanted: boolean;
  /** The value of the request in flight. */
  sent: boolean | undefined;
  timer: ReturnType<typeof setTimeout> | undefined;
}

export class PendingTodoChanges {
  readonly #send: (itemId: string, completed: boolean) => Promise<CommandResult>;
  readonly #onChange: () => void;
  readonly #entries = new Map<string, PendingChange>();
  #failure: FailedTodoChange | undefined;

  constructor(send: (itemId: string, completed: boolean) => Promise<CommandResult>, onChange: () => void) {
    this.#send = send;
    this.#onChange = onChange;
  }

  /** The last change that failed, until the next change. */
  get failure(): FailedTodoChange | undefined {
    return this.#failure;
  }

  /** Returns the pending value of an item, or undefined if it matches the session. */
  read({ id, completed }: TodoItem): boolean | undefined {
    const entry = this.#entries.get(id);
    if (entry === undefined || (entry.sent === undefined && entry.wanted === completed)) return undefined;
    return entry.wanted;
  }

  change(itemId: string, completed: boolean): void {
    this.#failure = undefined;
    const entry = this.#entries.get(itemId) ?? { wanted: completed, sent: undefined, timer: undefined };
    entry.wanted = completed;
    clearTimeout(entry.timer);
    this.#entries.set(itemId, entry);
    if (entry.sent === undefined) void this.#submit(itemId, entry);
    this.#onChange();
  }

  /** Drops changes that the session has confirmed. */
  settle(items: readonly TodoItem[]): void {
    if (this.#entries.size === 0) return;
    for (const item of items) if (this.#entries.has(item.id) && this.read(item) === undefined) this.#forget(item.id);
  }

  /** Drops all pending changes. */
  close(): void {
    for (const itemId of this.#entries.keys()) this.#forget(itemId);
  }

  async #submit(itemId: string, entry: PendingChange): Promise<void> {
    const asked = entry.wanted;
    entry.sent = asked;
    let outcome: CommandResult;
    try {
      outcome = await this.#send(itemId, asked);
    } catch (error) {
      outcome = { kind: "lost", code: "connection_lost", message: error instanceof Error ? error.message : "" };
    }
    if (this.#entries.get(itemId) !== entry) return;
    entry.sent = undefined;
    if (entry.wanted !== asked) {
      await this.#submit(itemId, entry);
      return;
    }
    if (outcome.kind === "done" || outcome.kind === "accepted") {
      entry.timer = setTimeout(() => {
        this.#forget(itemId);
        this.#onChange();
      }, CONFIRM_TIMEOUT_MS);
    } else {
      this.#forget(itemId);
      this.#failure = { itemId, outcome };
    }
    this.#onChange();
  }

  #forget(itemId: string): void {
    clearTimeout(this.#entries.get(itemId)?.timer);
    this.#entries.delete(itemId);
  }
}
