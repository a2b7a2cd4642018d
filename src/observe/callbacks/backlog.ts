/**
 * A queue limited in items and bytes. When it is full, droppable items make room for others; otherwise the new item is
 * dropped, so that a callback that sees the end of a run has also seen its start.
 */

interface BacklogItem<T> {
  readonly value: T;
  readonly bytes: number;
  readonly isDroppable: boolean;
}

/** Consumed items kept at the start of the array before it is copied. */
const MAX_CONSUMED = 1024;

export class Backlog<T> {
  readonly #maxItems: number;
  readonly #maxBytes: number;
  /** Items before the head are consumed. */
  #items: (BacklogItem<T> | undefined)[] = [];
  #head = 0;
  #bytes = 0;
  /** Number of droppable items. */
  #droppable = 0;

  constructor(maxItems: number, maxBytes: number) {
    this.#maxItems = maxItems;
    this.#maxBytes = maxBytes;
  }

  /**
   * Adds an item. Returns how many items were dropped, which can include the new one. An empty queue accepts any size.
   */
  push(value: T, { bytes, canGo }: { readonly bytes: number; readonly canGo: boolean }): number {
    let dropped = 0;
    if (!canGo) for (; this.#droppable > 0 && !this.#hasRoom(bytes); dropped++) this.#dropNewest();
    if (!this.#hasRoom(bytes)) return dropped + 1;
    this.#items.push({ value, bytes, isDroppable: canGo });
    this.#bytes += bytes;
    if (canGo) this.#droppable++;
    return dropped;
  }

  shift(): T | undefined {
    const item = this.#items[this.#head];
    if (item === undefined) {
      this.clear();
      return undefined;
    }
    // Release the item now, not when the array is copied.
    this.#items[this.#head++] = undefined;
    this.#bytes -= item.bytes;
    if (item.isDroppable) this.#droppable--;
    if (this.#head >= MAX_CONSUMED) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item.value;
  }

  /** Removes all items and returns how many there were. */
  clear(): number {
    const count = this.#items.length - this.#head;
    this.#items = [];
    this.#head = 0;
    this.#bytes = 0;
    this.#droppable = 0;
    return count;
  }

  #hasRoom(bytes: number): boolean {
    const count = this.#items.length - this.#head;
    return count === 0 || (count < this.#maxItems && this.#bytes + bytes <= this.#maxBytes);
  }

  /** Drops the newest droppable item. */
  #dropNewest(): void {
    const at = this.#items.findLastIndex((item) => item?.isDroppable === true);
    const [gone] = this.#items.splice(at, 1);
    this.#bytes -= gone?.bytes ?? 0;
    this.#droppable--;
  }
}
