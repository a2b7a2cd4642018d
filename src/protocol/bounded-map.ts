/**
 * A map that holds at most so many entries: the one set longest ago makes room. It keeps the state of sessions and runs
 * in streams that never end.
 */
export class BoundedMap<V> {
  readonly #entries = new Map<string, V>();
  readonly #limit: number;
  readonly #onEvict: ((value: V) => void) | undefined;
  /** Something had to go: what is not found here may have been. */
  evicted = false;

  constructor(limit: number, onEvict?: (value: V) => void) {
    this.#limit = limit;
    this.#onEvict = onEvict;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: string): V | undefined {
    return this.#entries.get(key);
  }

  /** The value of `key`, made by `create` if there is none; it becomes the youngest only when it is made. */
  getOrCreate(key: string, create: () => V): V {
    const known = this.#entries.get(key);
    if (known !== undefined) return known;
    const value = create();
    this.set(key, value);
    return value;
  }

  set(key: string, value: V): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size <= this.#limit) return;
    const [oldest] = this.#entries;
    if (oldest === undefined) return;
    this.#entries.delete(oldest[0]);
    this.evicted = true;
    this.#onEvict?.(oldest[1]);
  }

  clear(): void {
    this.#entries.clear();
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }

  keys(): IterableIterator<string> {
    return this.#entries.keys();
  }

  values(): IterableIterator<V> {
    return this.#entries.values();
  }

  entries(): IterableIterator<[string, V]> {
    return this.#entries.entries();
  }
}
