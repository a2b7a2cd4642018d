/** The item IDs of a session's to-do lists, so that updates of unknown items are rejected. */
import type { Landmark, Log } from "../log/log.ts";
import { type AnyEvent, BoundedMap, type EventOf, LoomError } from "../protocol/index.ts";

/** Only the latest lists; receivers remember no more. */
const MAX_LISTS = 100;

export class TodoLists {
  readonly #items = new BoundedMap<ReadonlySet<string>>(MAX_LISTS);

  /** Reads lists of a session from the log, newest first. */
  async load(log: Log, sessionId: string, lists: readonly Landmark[]): Promise<void> {
    for (const { eventId } of lists.toReversed()) {
      const { records } = await log.read(sessionId, { after: eventId - 1, limit: 1 });
      for (const { event } of records) this.add(event);
    }
  }

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
