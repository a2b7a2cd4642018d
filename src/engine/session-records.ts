/**
 * Where all records of a session pass on their way to the sequencer: those of its runs, and those that belong to none. It
 * knows the to-do lists, which outlive runs, and nothing else of what is written.
 */
import type { Log } from "../log/log.ts";
import { type AnyEvent, LoomError, mayLackRun } from "../protocol/index.ts";
import { checkEvent } from "./check-event.ts";
import type { Draft, Pushed, PushOptions, Sequencer } from "./sequencer.ts";
import { TodoLists } from "./todo-lists.ts";

export class SessionRecords {
  readonly #sequencer: Sequencer;
  readonly #maxNameLength: number;
  #todos = new TodoLists();

  constructor(sequencer: Sequencer, maxNameLength: number) {
    this.#sequencer = sequencer;
    this.#maxNameLength = maxNameLength;
  }

  /** Reads back what the log holds. */
  async load(log: Log, sessionId: string): Promise<void> {
    this.#todos = new TodoLists();
    await this.#todos.load(log, sessionId);
  }

  /** Takes a unit whole, or throws and has taken nothing. */
  push(drafts: readonly Draft[], options?: PushOptions): Pushed {
    for (const { event } of drafts) this.#todos.assert(event);
    const pushed = this.#sequencer.push(drafts, options);
    for (const { event } of drafts) this.#todos.add(event);
    return pushed;
  }

  /** A record outside any run; throws `invalid_event` where the event belongs into one. */
  pushRunless(event: AnyEvent): Pushed {
    const checked = checkEvent(event, this.#maxNameLength);
    if (mayLackRun(checked)) return this.push([{ event: checked }]);
    throw new LoomError("invalid_event", `\`${checked.type}\` belongs to a run`, { path: "type" });
  }
}
