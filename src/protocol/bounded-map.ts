/**
 * A map with a maximum size: adding an entry beyond it removes the entry that was set longest ago. Holds the state of
 * sessions and runs in endless streams.
 */
export class BoundedMap<V> extends Map<string, V> {
  readonly #limit: number;
  readonly #onEvict: ((value: V) => void) | undefined;
  /** True once an entry was removed; a missing key may have existed. */
  evicted = false;

  constructor(limit: number, onEvict?: (value: V) => void) {
    super();
    this.#limit = limit;
    this.#onEvict = onEvict;
  }

  /** Returns the value of `key` and creates it if missing. Only creating it makes the entry the newest. */
  getOrCreate(key: string, create: () => V): V {
    let value = this.get(key);
    if (value === undefined) this.set(key, (value = create()));
    return value;
  }

  override set(key: string, value: V): this {
    this.delete(key);
    super.set(key, value);
    if (this.size > this.#limit) {
      const [[oldest, gone]] = this as unknown as [[string, V]];
      this.delete(oldest);
      this.evicted = true;
      this.#onEvict?.(gone);
    }
    return this;
  }
}
