/** Makes names unique: the first keeps its own, the next is `name#2`, then `name#3`. */
export class UniqueKeys {
  readonly #taken = new Set<string>();
  /** How often a name was asked for, so that the next free number is found at once. */
  readonly #counts = new Map<string, number>();

  take(name: string): string {
    let count = this.#counts.get(name) ?? 0;
    let key: string;
    // A name may itself look like one of ours.
    do key = ++count === 1 ? name : `${name}#${count}`;
    while (this.#taken.has(key));
    this.#counts.set(name, count);
    this.#taken.add(key);
    return key;
  }

  /** The key is no longer shown. */
  release(key: string): void {
    this.#taken.delete(key);
    this.#counts.delete(key);
  }
}
