/**
 * Passes all records of a session to the sequencer: those of its runs, and those outside any run. It checks updates of
 * to-do lists, which outlive runs.
 */
import type { Landmark, Log } from "../log/log.ts";
import { type AnyEvent, LoomError, mayLackRun } from "../protocol/index.ts";
import { checkEvent } from "./check-event.ts";
import type { EventDraft, PushResult, PushOptions, Sequencer } from "./sequencer.ts";
import { TodoLists } from "./todo-lists.ts";

export class SessionRecords {
  readonly #sequencer: Sequencer;
  readonly #maxNameLength: number;
  #todos = new TodoLists();

  constructor(sequencer: Sequencer, maxNameLength: number) {
    this.#sequencer = sequencer;
    this.#maxNameLength = maxNameLength;
  }

  /** Reads the to-do lists from the log. */
  async load(log: Log, sessionId: string, lists: readonly Landmark[]): Promise<void> {
    this.#todos = new TodoLists();
    await this.#todos.load(log, sessionId, lists);
  }

  /** Accepts the whole unit, or throws and accepts nothing. */
  push(drafts: readonly EventDraft[], options?: PushOptions): PushResult {
    for (const { event } of drafts) this.#todos.assert(event);
    const pushed = this.#sequencer.push(drafts, options);
    for (const { event } of drafts) this.#todos.add(event);
    return pushed;
  }

  /** Writes a record outside any run. Throws `invalid_event` if the event must belong to a run. */
  pushRunless(event: AnyEvent): PushResult {
    const checked = checkEvent(event, this.#maxNameLength);
    if (mayLackRun(checked)) return this.push([{ event: checked }]);
    throw new LoomError("invalid_event", `\`${checked.type}\` must belong to a run`, { path: "type" });
  }
}
