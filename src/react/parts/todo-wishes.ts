/**
 * What a reader wants of a to-do list before the session says so. A wish is shown at once; when the view shows the same
 * it is gone, and when it is refused the view is what it was. Of one item one wish is under way at a time, so that two
 * quick changes cannot overtake each other.
 */
import type { CommandOutcome, TodoItem } from "../../client/index.ts";

export interface TodoTrouble {
  readonly itemId: string;
  readonly outcome: CommandOutcome;
}

/** How long a wish that was taken is shown while the view does not show it. */
const PATIENCE_MS = 10_000;

interface Entry {
  wanted: boolean;
  /** What was sent and is not answered. */
  sent: boolean | undefined;
  timer: ReturnType<typeof setTimeout> | undefined;
}

export class TodoWishes {
  readonly #send: (itemId: string, completed: boolean) => Promise<CommandOutcome>;
  readonly #onChange: () => void;
  readonly #entries = new Map<string, Entry>();
  #trouble: TodoTrouble | undefined;

  constructor(send: (itemId: string, completed: boolean) => Promise<CommandOutcome>, onChange: () => void) {
    this.#send = send;
    this.#onChange = onChange;
  }

  /** The last that was not taken, until something else is wished. */
  get trouble(): TodoTrouble | undefined {
    return this.#trouble;
  }

  /** Undefined where the view is what is wanted. */
  read({ id, completed }: TodoItem): boolean | undefined {
    const entry = this.#entries.get(id);
    if (entry === undefined || (entry.sent === undefined && entry.wanted === completed)) return undefined;
    return entry.wanted;
  }

  wish(itemId: string, completed: boolean): void {
    this.#trouble = undefined;
    const entry = this.#entries.get(itemId) ?? { wanted: completed, sent: undefined, timer: undefined };
    entry.wanted = completed;
    clearTimeout(entry.timer);
    this.#entries.set(itemId, entry);
    if (entry.sent === undefined) void this.#ask(itemId, entry);
    this.#onChange();
  }

  /** Forgets all that the view shows. */
  settle(items: readonly TodoItem[]): void {
    if (this.#entries.size === 0) return;
    for (const item of items) if (this.#entries.has(item.id) && this.read(item) === undefined) this.#forget(item.id);
  }

  /** Nobody looks any more. */
  close(): void {
    for (const itemId of this.#entries.keys()) this.#forget(itemId);
  }

  async #ask(itemId: string, entry: Entry): Promise<void> {
    const asked = entry.wanted;
    entry.sent = asked;
    let outcome: CommandOutcome;
    try {
      outcome = await this.#send(itemId, asked);
    } catch (error) {
      outcome = { kind: "lost", code: "connection_lost", message: error instanceof Error ? error.message : "" };
    }
    if (this.#entries.get(itemId) !== entry) return;
    entry.sent = undefined;
    if (entry.wanted !== asked) {
      await this.#ask(itemId, entry);
      return;
    }
    if (outcome.kind === "done" || outcome.kind === "accepted") {
      entry.timer = setTimeout(() => {
        this.#forget(itemId);
        this.#onChange();
      }, PATIENCE_MS);
    } else {
      this.#forget(itemId);
      this.#trouble = { itemId, outcome };
    }
    this.#onChange();
  }

  #forget(itemId: string): void {
    clearTimeout(this.#entries.get(itemId)?.timer);
    this.#entries.delete(itemId);
  }
}
