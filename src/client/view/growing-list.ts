/**
 * An append-mostly list with immutable snapshots. Changes take constant time; each snapshot after a change costs one
 * copy. Entries can be found by key.
 */
import { withFields } from "./with-fields.ts";

/** Size limits, and a counter for events that exceed them. */
export interface ViewQuota {
  readonly maxItems: number;
  omit(): void;
  /** Shortens a text to the limit. */
  cut<T extends string | undefined>(text: T): T;
}

export class GrowingList<V> {
  readonly #quota: ViewQuota | undefined;
  readonly #limit: number;
  readonly #items: V[] = [];
  /** Created with the first key. */
  #indexes: Map<string, number> | undefined;
  #shown: readonly V[] = [];
  #isStale = false;

  constructor(quota?: ViewQuota, limit: number = quota?.maxItems ?? Infinity) {
    this.#quota = quota;
    this.#limit = limit;
  }

  get length(): number {
    return this.#items.length;
  }

  at(index: number): V | undefined {
    return this.#items[index];
  }

  /** Returns the index of the first entry with this key. */
  find(key: string): number | undefined {
    return this.#indexes?.get(key);
  }

  get(key: string | undefined): V | undefined {
    return this.#items[this.#indexes?.get(key as string) as number];
  }

  /** Appends an entry. Returns false if the limit is reached. */
  push(value: V, key?: string): boolean {
    const index = this.#items.length;
    if (index >= this.#limit) {
      this.#quota?.omit();
      return false;
    }
    if (key !== undefined) {
      this.#indexes ??= new Map();
      if (!this.#indexes.has(key)) this.#indexes.set(key, index);
    }
    this.#items.push(value);
    this.#isStale = true;
    return true;
  }

  /** Inserts an entry. Only for lists without keys and limits. */
  insert(index: number, value: V): void {
    this.#items.splice(index, 0, value);
    this.#isStale = true;
  }

  set(index: number, value: V): void {
    if (this.#items[index] === value) return;
    this.#items[index] = value;
    this.#isStale = true;
  }

  /** Removes the first entry. Only for lists without keys. */
  shift(): V | undefined {
    this.#isStale = true;
    return this.#items.shift();
  }

  /** Returns a snapshot; the same array as before if nothing changed. */
  show(): readonly V[] {
    if (this.#isStale) {
      this.#isStale = false;
      this.#shown = this.#items.slice();
    }
    return this.#shown;
  }
}

/** Changes fields of an entry, if it exists. */
export function changeEntry<V extends object>(
  list: GrowingList<V>,
  index: number | undefined,
  fields: { readonly [K in keyof V]?: V[K] | undefined },
): void {
  const entry = index === undefined ? undefined : list.at(index);
  if (entry !== undefined) list.set(index as number, withFields(entry, fields));
}

/** Marks running entries as interrupted, because the run has ended. */
export function interruptEntries(list: GrowingList<{ readonly status: string }>): void {
  for (let i = 0; i < list.length; i++)
    if (list.at(i)?.status === "running") changeEntry(list, i, { status: "interrupted" });
}
