/**
 * A queue that is bounded in items and bytes. When it is full, what can go makes room for what cannot; otherwise the
 * newest is dropped: whoever is told the end of a story should know its beginning.
 */
interface Item<T> {
  readonly value: T;
  readonly bytes: number;
  readonly canGo: boolean;
}

/** How many may lie before the head until the list is made anew. */
const MAX_SPENT = 1024;

export class Backlog<T> {
  readonly #maxItems: number;
  readonly #maxBytes: number;
  /** Those before the head are gone. */
  #items: (Item<T> | undefined)[] = [];
  #head = 0;
  #bytes = 0;
  /** Those that can go. */
  #spare = 0;

  constructor(maxItems: number, maxBytes: number) {
    this.#maxItems = maxItems;
    this.#maxBytes = maxBytes;
  }

  /** How many were dropped for it, itself included. One alone always has room. */
  push(value: T, { bytes, canGo }: { readonly bytes: number; readonly canGo: boolean }): number {
    let dropped = 0;
    if (!canGo) for (; this.#spare > 0 && !this.#hasRoom(bytes); dropped++) this.#dropSpare();
    if (!this.#hasRoom(bytes)) return dropped + 1;
    this.#items.push({ value, bytes, canGo });
    this.#bytes += bytes;
    if (canGo) this.#spare++;
    return dropped;
  }

  shift(): T | undefined {
    const item = this.#items[this.#head];
    if (item === undefined) {
      this.clear();
      return undefined;
    }
    // What was told is not kept until the list is made anew.
    this.#items[this.#head++] = undefined;
    this.#bytes -= item.bytes;
    if (item.canGo) this.#spare--;
    if (this.#head >= MAX_SPENT) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item.value;
  }

  /** How many there were. */
  clear(): number {
    const count = this.#items.length - this.#head;
    this.#items = [];
    this.#head = 0;
    this.#bytes = 0;
    this.#spare = 0;
    return count;
  }

  #hasRoom(bytes: number): boolean {
    const count = this.#items.length - this.#head;
    return count === 0 || (count < this.#maxItems && this.#bytes + bytes <= this.#maxBytes);
  }

  /** The newest of them. */
  #dropSpare(): void {
    const at = this.#items.findLastIndex((item) => item?.canGo === true);
    const [gone] = this.#items.splice(at, 1);
    this.#bytes -= gone?.bytes ?? 0;
    this.#spare--;
  }
}
