/**
 * Passes all records of a session to the sequencer: those of its runs, and those outside any run. It checks updates of
 * to-do lists and knows which tools are allowed; both outlive runs.
 */
import type { Landmark, Log } from "../log/log.ts";
import { type AnyEvent, type EventOf, LoomError } from "../protocol/index.ts";
import { BoundedMap } from "../protocol/bounded-map.ts";
import { mayLackRun } from "../protocol/record.ts";
import { checkEvent } from "./check-event.ts";
import type { EventDraft, PushResult, PushOptions, Sequencer } from "./sequencer.ts";

export class SessionRecords {
  readonly #sequencer: Sequencer;
  readonly #maxNameLength: number;
  #todos = new TodoLists();
  /** Tools that need no approval in this session. */
  #allowed = new Set<string>();

  constructor(sequencer: Sequencer, maxNameLength: number) {
    this.#sequencer = sequencer;
    this.#maxNameLength = maxNameLength;
  }

  /** Reads the to-do lists and the permissions of tools from the log. Of each kind, the newest is first. */
  async load(log: Log, sessionId: string, landmarks: readonly Landmark[]): Promise<void> {
    this.#todos = new TodoLists();
    this.#allowed = new Set();
    for (const { eventId, runId } of landmarks.toReversed()) {
      const { records } = await log.read(sessionId, { after: eventId - 1, limit: 1 });
      for (const { event } of records) this.#add({ event, runId });
    }
  }

  /** Tools of which users allowed all calls in the session. */
  get allowedTools(): ReadonlySet<string> {
    return this.#allowed;
  }

  /** Accepts the whole unit, or throws and accepts nothing. */
  push(drafts: readonly EventDraft[], options?: PushOptions): PushResult {
    for (const { event } of drafts) this.#todos.assert(event);
    const pushed = this.#sequencer.push(drafts, options);
    for (const draft of drafts) this.#add(draft);
    return pushed;
  }

  #add({ event, runId }: EventDraft): void {
    this.#todos.add(event);
    // A run cannot allow its own tools.
    if (event.type !== "tool_permission" || runId !== undefined) return;
    const { name, rule } = event as EventOf<"tool_permission">;
    if (rule === "allow") this.#allowed.add(name.toWellFormed());
    else this.#allowed.delete(name.toWellFormed());
  }

  /** Writes a record outside any run. Throws `invalid_event` if the event must belong to a run. */
  pushRunless(event: AnyEvent): PushResult {
    const checked = checkEvent(event, this.#maxNameLength);
    if (mayLackRun(checked)) return this.push([{ event: checked }]);
    throw new LoomError("invalid_event", `\`${checked.type}\` must belong to a run`, { path: "type" });
  }
}

/** Only the latest lists; receivers remember no more. */
const MAX_LISTS = 100;

/** The item IDs of a session's to-do lists, so that updates of unknown items are rejected. */
class TodoLists {
  readonly #items = new BoundedMap<ReadonlySet<string>>(MAX_LISTS);

  add(event: AnyEvent): void {
    if (event.type !== "todo_list") return;
    const { list_id, items } = event as EventOf<"todo_list">;
    this.#items.set(list_id, new Set(items.map(({ id }) => id)));
  }

  /** Throws `unknown_todo` for an update of a list or item that does not exist. */
  assert(event: AnyEvent): void {
    if (event.type !== "todo_update") return;
    const { list_id, item_id } = event as EventOf<"todo_update">;
    const items = this.#items.get(list_id);
    if (items === undefined) throw new LoomError("unknown_todo", `There is no to-do list "${list_id}"`, { list_id });
    if (!items.has(item_id))
      throw new LoomError("unknown_todo", `To-do list "${list_id}" has no item "${item_id}"`, { list_id, item_id });
  }
}
