/**
 * A map that holds at most so many entries: the one set longest ago makes room. It keeps the state of sessions and runs
 * in streams that never end.
 */
export class BoundedMap<V> extends Map<string, V> {
  readonly #limit: number;
  readonly #onEvict: ((value: V) => void) | undefined;
  /** Something had to go: what is not found here may have been. */
  evicted = false;

  constructor(limit: number, onEvict?: (value: V) => void) {
    super();
    this.#limit = limit;
    this.#onEvict = onEvict;
  }

  /** The value of `key`, made by `create` if there is none; it becomes the youngest only when it is made. */
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
