/**
 * The to-do lists of a session as they stand now. They outlive their runs: an item may be ticked when the run is long
 * over. An update of what does not exist changes nothing.
 */
import type { TodoListEvent, TodoUpdateEvent } from "../../protocol/index.ts";
import type { TodoItem, TodoList } from "../view.ts";
import { changeEntry, GrowingList, type Room } from "./growing-list.ts";
import { makeView } from "./with-fields.ts";

export class TodoFold {
  readonly #room: Room;
  readonly #lists: GrowingList<TodoList>;
  /** Of each list, in the same order. */
  readonly #items: GrowingList<TodoItem>[] = [];
  /** Places of the lists whose items changed since they were last shown. */
  readonly #changed = new Set<number>();

  constructor(room: Room) {
    this.#room = room;
    this.#lists = new GrowingList(room);
  }

  /** True when the list is new. */
  put({ list_id, title, items }: TodoListEvent): boolean {
    const known = this.#lists.find(list_id);
    const place = known ?? this.#lists.length;
    const shown = new GrowingList<TodoItem>(this.#room);
    for (const { id, text, completed } of items) if (!shown.push({ id, text, completed }, id)) break;
    const list = makeView<TodoList>({ listId: list_id, title, items: shown.show() });
    if (known !== undefined) this.#lists.set(known, list);
    else if (!this.#lists.push(list, list_id)) return false;
    this.#items[place] = shown;
    return known === undefined;
  }

  /** What is wrong with the update, if anything. */
  update({ list_id, item_id, completed, text }: TodoUpdateEvent): string | undefined {
    const place = this.#lists.find(list_id);
    const items = place === undefined ? undefined : this.#items[place];
    if (place === undefined || items === undefined) return `there is no list ${list_id}`;
    const found = items.find(item_id);
    if (found === undefined) return `list ${list_id} has no item ${item_id}`;
    changeEntry(items, found, { text, completed });
    this.#changed.add(place);
    return undefined;
  }

  show(): readonly TodoList[] {
    for (const place of this.#changed) changeEntry(this.#lists, place, { items: this.#items[place]?.show() });
    this.#changed.clear();
    return this.#lists.show();
  }
}
