/**
 * Folds the to-do lists of a session. They outlive their runs: an item may be completed long after the run. Updates of
 * unknown lists or items change nothing.
 */
import type { TodoListEvent, TodoUpdateEvent } from "../../protocol/events.generated.ts";
import type { TodoItem, TodoList } from "../view.ts";
import { changeEntry, GrowingList, type ViewQuota } from "./growing-list.ts";
import { makeView } from "./with-fields.ts";

export class TodoFold {
  readonly #quota: ViewQuota;
  readonly #lists: GrowingList<TodoList>;
  /** Items of each list, in the same order. */
  readonly #items: GrowingList<TodoItem>[] = [];
  /** Indexes of the lists whose items changed since the last `show`. */
  readonly #changed = new Set<number>();

  constructor(quota: ViewQuota) {
    this.#quota = quota;
    this.#lists = new GrowingList(quota);
  }

  /** Creates or replaces a list. Returns true if it is new. */
  put({ list_id, title, items }: TodoListEvent): boolean {
    const known = this.#lists.find(list_id);
    const index = known ?? this.#lists.length;
    const shown = new GrowingList<TodoItem>(this.#quota);
    for (const { id, text, completed } of items) if (!shown.push({ id, text, completed }, id)) break;
    const list = makeView<TodoList>({ listId: list_id, title, items: shown.show() });
    if (known !== undefined) this.#lists.set(known, list);
    else if (!this.#lists.push(list, list_id)) return false;
    this.#items[index] = shown;
    return known === undefined;
  }

  /** Updates an item. Returns an error message if the list or item is unknown. */
  update({ list_id, item_id, completed, text }: TodoUpdateEvent): string | undefined {
    const index = this.#lists.find(list_id);
    const items = index === undefined ? undefined : this.#items[index];
    if (index === undefined || items === undefined) return `unknown to-do list ${list_id}`;
    const found = items.find(item_id);
    if (found === undefined) return `to-do list ${list_id} has no item ${item_id}`;
    changeEntry(items, found, { text, completed });
    this.#changed.add(index);
    return undefined;
  }

  show(): readonly TodoList[] {
    for (const index of this.#changed) changeEntry(this.#lists, index, { items: this.#items[index]?.show() });
    this.#changed.clear();
    return this.#lists.show();
  }
}
