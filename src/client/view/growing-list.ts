/**
 * A list of finished values that grows and is shown again and again. A change costs the same however long the list, apart
 * from one copy each time it is shown. Lists that were shown never change. Values can be found again by a key.
 */
import { withFields } from "./with-fields.ts";

/** How much there may be, and whom to tell of what there is no room for. */
export interface Room {
  readonly maxItems: number;
  omit(): void;
  /** As much of a text as there is room for. */
  cut<T extends string | undefined>(text: T): T;
}

export class GrowingList<V> {
  readonly #room: Room | undefined;
  readonly #limit: number;
  readonly #items: V[] = [];
  /** Made when the first key comes. */
  #places: Map<string, number> | undefined;
  #shown: readonly V[] = [];
  #isStale = false;

  constructor(room?: Room, limit: number = room?.maxItems ?? Infinity) {
    this.#room = room;
    this.#limit = limit;
  }

  get length(): number {
    return this.#items.length;
  }

  at(index: number): V | undefined {
    return this.#items[index];
  }

  /** The place of the first value with this key. */
  find(key: string): number | undefined {
    return this.#places?.get(key);
  }

  get(key: string | undefined): V | undefined {
    return this.#items[this.#places?.get(key as string) as number];
  }

  /** False when there is no room. */
  push(value: V, key?: string): boolean {
    const place = this.#items.length;
    if (place >= this.#limit) {
      this.#room?.omit();
      return false;
    }
    if (key !== undefined) {
      this.#places ??= new Map();
      if (!this.#places.has(key)) this.#places.set(key, place);
    }
    this.#items.push(value);
    this.#isStale = true;
    return true;
  }

  /** For lists without keys and without a limit. */
  insert(index: number, value: V): void {
    this.#items.splice(index, 0, value);
    this.#isStale = true;
  }

  set(index: number, value: V): void {
    if (this.#items[index] === value) return;
    this.#items[index] = value;
    this.#isStale = true;
  }

  /** Takes the oldest away. For lists without keys. */
  shift(): V | undefined {
    this.#isStale = true;
    return this.#items.shift();
  }

  /** The same array as last time when nothing changed. */
  show(): readonly V[] {
    if (this.#isStale) {
      this.#isStale = false;
      this.#shown = this.#items.slice();
    }
    return this.#shown;
  }
}

/** Gives an entry other fields, where there is one. */
export function changeEntry<V extends object>(
  list: GrowingList<V>,
  index: number | undefined,
  fields: { readonly [K in keyof V]?: V[K] | undefined },
): void {
  const entry = index === undefined ? undefined : list.at(index);
  if (entry !== undefined) list.set(index as number, withFields(entry, fields));
}

/** The run is over: what still runs will not come to an end. */
export function interruptEntries(list: GrowingList<{ readonly status: string }>): void {
  for (let i = 0; i < list.length; i++)
    if (list.at(i)?.status === "running") changeEntry(list, i, { status: "interrupted" });
}
