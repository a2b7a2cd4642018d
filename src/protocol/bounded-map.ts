/**
 * A map with a maximum size: adding an entry beyond it removes the entry that was set longest ago. Holds the state of
 * sessions and runs in endless streams. It can work on a given map, so that state stays plain data.
 */
export class BoundedMap<V> {
  readonly #entries: Map<string, V>;
  readonly #limit: number;
  readonly #onEvict: ((value: V) => void) | undefined;
  /** True once an entry was removed; a missing key may have existed. */
  evicted = false;

  constructor(limit: number, onEvict?: (value: V) => void, entries = new Map<string, V>()) {
    this.#limit = limit;
    this.#onEvict = onEvict;
    this.#entries = entries;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: string): V | undefined {
    return this.#entries.get(key);
  }

  /** Returns the value of `key` and creates it if missing. Only creating it makes the entry the newest. */
  getOrCreate(key: string, create: () => V): V {
    let value = this.#entries.get(key);
    if (value === undefined) this.set(key, (value = create()));
    return value;
  }

  has(key: string): boolean {
    return this.#entries.has(key);
  }

  /** Makes the entry the newest. */
  set(key: string, value: V): void {
    const gone = setBounded(this.#entries, this.#limit, key, value);
    if (gone === undefined) return;
    this.evicted = true;
    this.#onEvict?.(gone);
  }

  delete(key: string): boolean {
    return this.#entries.delete(key);
  }

  clear(): void {
    this.#entries.clear();
  }

  /** The keys, the one set longest ago first. */
  keys(): MapIterator<string> {
    return this.#entries.keys();
  }

  /** The values, the one set longest ago first. */
  values(): MapIterator<V> {
    return this.#entries.values();
  }
}

/**
 * Sets an entry of a map as its newest. If the map then has more than `limit` entries, removes the one that was set longest
 * ago and returns its value.
 */
export function setBounded<V>(entries: Map<string, V>, limit: number, key: string, value: V): V | undefined {
  entries.delete(key);
  entries.set(key, value);
  if (entries.size <= limit) return undefined;
  const [[oldest, gone]] = entries as unknown as [[string, V]];
  entries.delete(oldest);
  return gone;
}
