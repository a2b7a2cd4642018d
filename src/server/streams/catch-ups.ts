/**
 * Turns for those who are brought up to date from the store: so many at once, the others wait in the order they came.
 *
 * One whose sink is full keeps its turn only as long as nobody else wants it: what it has opened costs memory, and to
 * open it again costs reading, so it is taken away when it must be, and not before.
 */
export interface CatchUp {
  /** The turn is over, though it was not given back. */
  revoke(): void;
}

export class CatchUps {
  readonly #limit: number;
  readonly #active = new Set<CatchUp>();
  /** Those of them that wait for room, the longest first. */
  readonly #stalled = new Set<CatchUp>();
  readonly #waiting = new Map<CatchUp, () => void>();

  constructor(limit: number) {
    this.#limit = Math.max(1, limit);
  }

  /** Those that have a turn. */
  get size(): number {
    return this.#active.size;
  }

  has(who: CatchUp): boolean {
    return this.#active.has(who);
  }

  /** Undefined where it is one's turn at once. */
  take(who: CatchUp): Promise<void> | undefined {
    if (this.#active.has(who)) return undefined;
    if (this.#active.size >= this.#limit) this.#revokeOne();
    if (this.#active.size < this.#limit) {
      this.#active.add(who);
      return undefined;
    }
    return new Promise<void>((resolve) => this.#waiting.set(who, resolve));
  }

  /** It cannot go on before there is room. */
  stall(who: CatchUp): void {
    if (!this.#active.has(who)) return;
    this.#stalled.add(who);
    if (this.#waiting.size > 0) this.#revokeOne();
  }

  /** There is room again. False where the turn has passed to somebody else. */
  goOn(who: CatchUp): boolean {
    this.#stalled.delete(who);
    return this.#active.has(who);
  }

  /** Gives it back, or no longer waits for it. */
  release(who: CatchUp): void {
    this.#stalled.delete(who);
    const waits = this.#waiting.get(who);
    this.#waiting.delete(who);
    waits?.();
    if (!this.#active.delete(who)) return;
    for (const [next, begin] of this.#waiting) {
      if (this.#active.size >= this.#limit) return;
      this.#waiting.delete(next);
      this.#active.add(next);
      begin();
    }
  }

  #revokeOne(): void {
    const [who] = this.#stalled;
    if (who === undefined) return;
    who.revoke();
    this.release(who);
  }
}
