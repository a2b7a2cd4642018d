/**
 * The to-do lists of one run with all changes so far, for dialects that send a changed list as a whole. The lists are
 * plain data: they are part of the saved state of an encoder.
 */
import { setBounded } from "../protocol/bounded-map.ts";
import type { TodoListEvent, TodoUpdateEvent } from "../protocol/events.generated.ts";

const MAX_LISTS = 100;
const MAX_LIST_ITEMS = 1000;

/** Remembers a to-do list, or a change of one. Returns the whole list; undefined if it is not known. */
export function changeList(
  known: Map<string, TodoListEvent>,
  event: TodoListEvent | TodoUpdateEvent,
): TodoListEvent | undefined {
  if (event.type === "todo_list") {
    if (event.items.length <= MAX_LIST_ITEMS) setBounded(known, MAX_LISTS, event.list_id, event);
    else known.delete(event.list_id);
    return event;
  }
  const list = known.get(event.list_id);
  if (list === undefined) return undefined;
  const { item_id, text, completed } = event;
  const items = list.items.map((item) =>
    item.id === item_id ? { ...item, text: text ?? item.text, completed: completed ?? item.completed } : item,
  );
  const changed = { ...list, items };
  setBounded(known, MAX_LISTS, event.list_id, changed);
  return changed;
}
