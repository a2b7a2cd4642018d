/**
 * Limits how many readers catch up from the log at the same time. Others wait in request order.
 *
 * A holder whose sink is full keeps its slot until another reader needs it: its open read costs memory, and opening it
 * again costs reads.
 */
export interface SlotHolder {
  /** Called when the slot is taken away from its holder. */
  revoke(): void;
}

export class CatchUpSlots {
  readonly #limit: number;
  readonly #active = new Set<SlotHolder>();
  /** Holders that wait for room in their sink, the longest waiting first. */
  readonly #stalled = new Set<SlotHolder>();
  readonly #waiting = new Map<SlotHolder, () => void>();

  constructor(limit: number) {
    this.#limit = Math.max(1, limit);
  }

  /**
   * Takes a slot. Returns undefined when one is free; otherwise a promise that resolves when a slot is assigned, or
   * when `release` stops the wait.
   */
  acquire(holder: SlotHolder): Promise<void> | undefined {
    if (this.#active.has(holder)) return undefined;
    if (this.#active.size >= this.#limit) this.#revokeOne();
    if (this.#active.size < this.#limit) {
      this.#active.add(holder);
      return undefined;
    }
    return new Promise<void>((resolve) => this.#waiting.set(holder, resolve));
  }

  /** Marks the holder as waiting for room in its sink. Its slot may be revoked from now on. */
  stall(holder: SlotHolder): void {
    if (!this.#active.has(holder)) return;
    this.#stalled.add(holder);
    if (this.#waiting.size > 0) this.#revokeOne();
  }

  /** Marks the holder as active again. Returns false when its slot was revoked. */
  resume(holder: SlotHolder): boolean {
    this.#stalled.delete(holder);
    return this.#active.has(holder);
  }

  /** Gives the slot back, or stops waiting for one. */
  release(holder: SlotHolder): void {
    this.#stalled.delete(holder);
    const wake = this.#waiting.get(holder);
    this.#waiting.delete(holder);
    wake?.();
    if (!this.#active.delete(holder)) return;
    for (const [next, wake] of this.#waiting) {
      if (this.#active.size >= this.#limit) return;
      this.#waiting.delete(next);
      this.#active.add(next);
      wake();
    }
  }

  #revokeOne(): void {
    const [holder] = this.#stalled;
    if (holder === undefined) return;
    holder.revoke();
    this.release(holder);
  }
}
