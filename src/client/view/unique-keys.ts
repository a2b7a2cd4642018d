/** Makes names unique: the first use keeps the name, later ones become `name#2`, `name#3` and so on. */
export class UniqueKeys {
  readonly #taken = new Set<string>();
  /** Uses per name, to find the next free number without searching. */
  readonly #counts = new Map<string, number>();

  take(name: string): string {
    let count = this.#counts.get(name) ?? 0;
    let key: string;
    // A name may itself look like a generated key.
    do key = ++count === 1 ? name : `${name}#${count}`;
    while (this.#taken.has(key));
    this.#counts.set(name, count);
    this.#taken.add(key);
    return key;
  }

  /** Frees a key that is no longer shown. */
  release(key: string): void {
    this.#taken.delete(key);
    this.#counts.delete(key);
  }
}
