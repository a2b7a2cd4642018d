/**
 * Orders the frames of one numbered stream: takes each number once, holds frames that arrive early, and reports what is
 * missing. It knows numbers, not the content of frames.
 *
 *   insert ──▶ next number ──▶ taken, followed by held items that are now in order
 *         ├──▶ too early ──▶ held ──▶ taken later, or after `skip`
 *         ├──▶ known number ──▶ duplicate, or conflict if the content differs
 *         └──▶ skipped number ──▶ late: all items are reordered while they are still kept, otherwise it is lost
 *
 * Invariant: items are taken in the order of their numbers, and every item that is not taken is reported.
 */
import type { FrameNumber } from "../../dialects/frame-traits.ts";

/** An item with a number. */
export interface Numbered extends FrameNumber {
  /** Number of characters while held. */
  readonly size: number;
}

/** What `insert` did with an item; see the diagram above. */
export type InsertResult = "taken" | "held" | "duplicate" | "conflict" | "late" | "full";

export interface SequenceOptions<T> {
  readonly maxHeld: number;
  readonly maxHeldCharacters: number;
  /** The first possible number, if known. A stream that starts later has lost its beginning. */
  readonly first?: number | undefined;
  /** Keeps items although numbers were given up, so that a number that arrives later is put in its place. */
  readonly keepsItems?: boolean | undefined;
  /** Takes the next item in order. `sure` is true if nothing can be missing before it. */
  take(item: T, sure: boolean): void;
  /**
   * Discards everything taken so far, because the same items follow in a better order. Returns false if not possible.
   */
  reset(): boolean;
}

/** Number of recent fingerprints kept, to tell a duplicate from a conflict. */
const MAX_FINGERPRINTS = 1024;
const MAX_STARTS = 10_000;
const MAX_SKIPPED = 1000;
/** Each reordering costs as much as all kept items. */
const MAX_REORDERINGS = 64;

/** The ordered items of one numbered stream. */
export class Sequence<T extends Numbered> {
  readonly #options: SequenceOptions<T>;
  /** Held items, by the number each is waiting for. */
  readonly #held = new Map<number, T>();
  #heldCharacters = 0;
  #last: number | undefined;
  #contiguous: boolean;
  #startsAfter = 0;
  readonly #fingerprints: (number | undefined)[] = [];
  readonly #starts = new Map<number, number>();
  /** Skipped numbers as ranges; the oldest are forgotten first. */
  #skipped: [first: number, last: number][] = [];
  /** Items taken so far, while a reordering is still possible; undefined once it is not, or there are too many. */
  #kept: T[] | undefined = [];
  #keptCharacters = 0;
  #reorderings = 0;
  #isReordering = false;

  constructor(options: SequenceOptions<T>) {
    this.#options = options;
    this.#contiguous = options.first !== undefined;
    this.#last = this.#beforeFirst;
    if (options.first !== undefined && options.keepsItems !== true) this.#kept = undefined;
  }

  get #beforeFirst(): number | undefined {
    const { first } = this.#options;
    return first === undefined ? undefined : first - 1;
  }

  get last(): number | undefined {
    return this.#last;
  }

  get heldCount(): number {
    return this.#held.size;
  }

  /** How many numbers are missing before the first held item, if known. */
  get missing(): number | undefined {
    if (this.#held.size === 0 || this.#last === undefined) return undefined;
    let lowest = Number.POSITIVE_INFINITY;
    for (const waitsFor of this.#held.keys()) if (waitsFor < lowest) lowest = waitsFor;
    return lowest - this.#last;
  }

  /** True for a number that is not above the last one and does not fill a gap. */
  isBehind(number: number): boolean {
    if (this.#last === undefined || number > this.#last) return false;
    // The number right before the first one taken was late.
    return number < this.#startsAfter || !this.#wasSkipped(number);
  }

  get contiguous(): boolean {
    return this.#contiguous;
  }

  /** The number before the first item taken. Above 0, the stream was joined there, or earlier items are lost. */
  get startsAfter(): number {
    return this.#startsAfter;
  }

  /**
   * Fast path for the next number when nothing is held or kept. Returns true if it applied; the caller then takes the
   * item. Otherwise use `insert`.
   */
  advance(number: number, print: number): boolean {
    if (this.#last === undefined || number !== this.#last + 1 || this.#kept !== undefined || this.#held.size > 0)
      return false;
    this.#last = number;
    this.#fingerprints[number % MAX_FINGERPRINTS] = print;
    return true;
  }

  /** Takes, holds or rejects an item. */
  insert(item: T): InsertResult {
    const { number } = item;
    const last = this.#last;
    if (last === undefined) {
      this.#startsAfter = item.previous ?? number - 1;
      this.#take(item, item.contiguous === true);
      // A stream may be joined anywhere, but nothing precedes number 1, where Loom streams start.
      if (number <= 1 && item.contiguous === true) this.#kept = undefined;
      return "taken";
    }
    const waitsFor = item.previous ?? number - 1;
    if (waitsFor === last && number > last) {
      // Skipped numbers may still arrive from an unfiltered source; do not compare them with old fingerprints.
      for (let left = last + 1; left < number && left <= last + MAX_FINGERPRINTS; left++)
        this.#fingerprints[left % MAX_FINGERPRINTS] = undefined;
      // The most common case: the next number, with nothing held.
      this.#take(item, this.#contiguous || item.contiguous === true);
      if (this.#held.size > 0) this.#release();
      return "taken";
    }
    if (number <= last) return this.#insertBehind(item, last);
    return this.#insertAhead(item, waitsFor);
  }

  #insertAhead(item: T, waitsFor: number): InsertResult {
    const strict = this.#held.size > 0 || (this.#contiguous && item.contiguous !== false);
    // If the stated predecessor was already passed, the sender has filtered the numbers in between.
    if (!strict || waitsFor < (this.#last as number)) {
      this.#skipTo(item.number - 1);
      this.#take(item, item.contiguous === true);
      return "taken";
    }
    const held = this.#held.get(waitsFor);
    if (held !== undefined) return held.fingerprint === item.fingerprint ? "duplicate" : "conflict";
    const { maxHeld, maxHeldCharacters } = this.#options;
    // Items being reordered were already held or kept, so the limit does not apply.
    const isFull = this.#held.size >= maxHeld || this.#heldCharacters + item.size > maxHeldCharacters;
    if (isFull && !this.#isReordering) return "full";
    this.#held.set(waitsFor, item);
    this.#heldCharacters += item.size;
    return "held";
  }

  #insertBehind(item: T, last: number): InsertResult {
    const { number } = item;
    if (this.#wasSkipped(number)) return this.#kept === undefined ? "late" : this.#reorder(item);
    if (last - number < MAX_FINGERPRINTS) {
      const print = this.#fingerprints[number % MAX_FINGERPRINTS];
      return print !== undefined && print !== item.fingerprint ? "conflict" : "duplicate";
    }
    // Too old for a fingerprint, but a section start is remembered longer and reveals a reused ID.
    const isStart = item.contiguous !== undefined || number === this.#options.first;
    return isStart && this.#starts.size < MAX_STARTS && this.#starts.get(number) !== item.fingerprint
      ? "conflict"
      : "duplicate";
  }

  /** True for numbers that were not taken although a higher one was. */
  #wasSkipped(number: number): boolean {
    for (let i = this.#skipped.length - 1; i >= 0; i--) {
      const [first, last] = this.#skipped[i] as [number, number];
      if (number > last) return false;
      if (number >= first) return true;
    }
    return false;
  }

  #take(item: T, sure: boolean): void {
    const { number } = item;
    if (this.#last === undefined && number > 0) this.#skipped.push([0, number - 1]);
    if (item.contiguous !== undefined) this.#contiguous = item.contiguous;
    this.#last = number;
    this.#fingerprints[number % MAX_FINGERPRINTS] = item.fingerprint;
    if ((item.contiguous !== undefined || number === this.#options.first) && this.#starts.size < MAX_STARTS)
      this.#starts.set(number, item.fingerprint);
    if (this.#kept !== undefined) this.#keep(item);
    this.#options.take(item, sure);
  }

  #keep(item: T): void {
    const kept = this.#kept as T[];
    this.#keptCharacters += item.size;
    if (kept.length < this.#options.maxHeld && this.#keptCharacters <= this.#options.maxHeldCharacters) kept.push(item);
    else this.#kept = undefined;
  }

  #release(): void {
    let next = this.#held.get(this.#last as number);
    while (next !== undefined) {
      this.#held.delete(this.#last as number);
      this.#heldCharacters -= next.size;
      this.#take(next, this.#contiguous || next.contiguous === true);
      next = this.#held.get(this.#last as number);
    }
  }

  #skipTo(number: number): void {
    const from = (this.#last as number) + 1;
    if (number < from) return;
    this.#skipped.push([from, number]);
    if (this.#skipped.length > MAX_SKIPPED) this.#skipped.shift();
  }

  /** Takes all kept items again, with `item` in the right order. */
  #reorder(item: T): InsertResult {
    if (++this.#reorderings > MAX_REORDERINGS || !this.#options.reset()) {
      this.#kept = undefined;
      return "late";
    }
    const all = [...(this.#kept as T[]), item, ...this.#held.values()].sort((a, b) => a.number - b.number);
    this.#last = this.#beforeFirst;
    this.#contiguous = this.#last !== undefined;
    this.#skipped = [];
    this.#fingerprints.length = 0;
    this.#held.clear();
    this.#heldCharacters = 0;
    this.#kept = [];
    this.#keptCharacters = 0;
    this.#starts.clear();
    this.#isReordering = true;
    for (const each of all) this.insert(each);
    this.#isReordering = false;
    return "taken";
  }

  /** Discards the held items, because they will be sent again. */
  drop(): void {
    this.#held.clear();
    this.#heldCharacters = 0;
  }

  /** Continues at this number, because nothing before it will arrive. */
  jumpTo(number: number): void {
    this.skip();
    if (this.#last === undefined || number - 1 <= this.#last) return;
    this.#kept = undefined;
    this.#skipTo(number - 1);
    this.#last = number - 1;
  }

  /** True if exactly this frame was taken, as far as remembered. */
  hasTaken({ number, fingerprint: print }: Numbered): boolean {
    const last = this.#last ?? -1;
    if (number > last) return false;
    // The first frame of a run is remembered longer.
    if (last - number >= MAX_FINGERPRINTS) return this.#starts.get(number) === print;
    return this.#fingerprints[number % MAX_FINGERPRINTS] === print;
  }

  /** Gives up the missing numbers and takes the held items in order. Returns how many numbers were given up. */
  skip(): number {
    let lost = 0;
    const waiting = [...this.#held.values()].sort((a, b) => a.number - b.number);
    this.#held.clear();
    this.#heldCharacters = 0;
    // Lost numbers rule out a later reordering.
    if (waiting.length > 0 && this.#options.keepsItems !== true) this.#kept = undefined;
    for (const item of waiting) {
      const waitsFor = item.previous ?? item.number - 1;
      const last = this.#last as number;
      if (item.number <= last) continue;
      if (waitsFor > last) {
        lost += waitsFor - last;
        this.#skipTo(waitsFor);
      }
      this.#take(item, waitsFor <= last);
    }
    return lost;
  }
}
