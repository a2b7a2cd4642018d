/**
 * Puts the frames of one numbered stream in order: takes each number once, holds what came too early, and says what is
 * missing. It knows numbers, not what a frame says.
 *
 *   arrives ──▶ next in order ──▶ taken, and with it what was held for it
 *          ├──▶ too early ──▶ held ──▶ taken later, or given up with `skip`
 *          ├──▶ had before ──▶ double, or conflict when it is not the same frame
 *          └──▶ jumped over ──▶ late: the stream is put in order anew while its frames are still kept, else it is lost
 *
 * Invariant: items are taken in the order of their numbers; what was not taken though it came is told.
 */
export interface Numbered {
  readonly number: number;
  /** The number before this one, where the sender says so; otherwise it is one less. */
  readonly previous: number | undefined;
  /** Tells two frames with one number apart: a time, or a length. */
  readonly print: number;
  /** Begins a stretch in which numbers grow by exactly 1 (true) or may jump (false); undefined within a stretch. */
  readonly contiguous: boolean | undefined;
  /** Characters it occupies while it is held. */
  readonly size: number;
}

export type Verdict = "taken" | "held" | "double" | "conflict" | "late" | "full";

export interface SequenceOptions<T> {
  readonly maxHeld: number;
  readonly maxHeldCharacters: number;
  /** The first number there can be, where it is known: a stream that begins later has lost its beginning. */
  readonly first?: number;
  /** Takes an item in its turn. `sure`: nothing can be missing between it and the one before. */
  take(item: T, sure: boolean): void;
  /** Forgets everything that was taken: the same items follow again, in a better order. False where that cannot be. */
  reset(): boolean;
}

/** Marks of the last numbers taken, and of where stretches began, to tell a double from a conflict. */
const PRINTS = 1024;
const MAX_STARTS = 10_000;
const MAX_SKIPPED = 1000;
/** Each costs as much as the frames that are kept. */
const MAX_REORDERINGS = 64;

export class Sequence<T extends Numbered> {
  readonly #options: SequenceOptions<T>;
  /** By the number each waits for. */
  readonly #held = new Map<number, T>();
  #heldCharacters = 0;
  #last: number | undefined;
  #contiguous: boolean;
  readonly #prints: (number | undefined)[] = [];
  readonly #starts = new Map<number, number>();
  /** Numbers that were jumped over, as ranges; the oldest are forgotten first. */
  #skipped: [first: number, last: number][] = [];
  /** What was taken so far, while the order may still turn out to be another; undefined once it cannot or is too much. */
  #kept: T[] | undefined = [];
  #keptCharacters = 0;
  #reorderings = 0;
  #isReordering = false;

  constructor(options: SequenceOptions<T>) {
    this.#options = options;
    this.#contiguous = options.first !== undefined;
    if (options.first !== undefined) {
      this.#last = options.first - 1;
      this.#kept = undefined;
    }
  }

  get last(): number | undefined {
    return this.#last;
  }

  get heldCount(): number {
    return this.#held.size;
  }

  /** How many are missing before the first that is held, where numbers tell. */
  get missing(): number | undefined {
    if (this.#held.size === 0 || this.#last === undefined) return undefined;
    let lowest = Number.POSITIVE_INFINITY;
    for (const waitsFor of this.#held.keys()) if (waitsFor < lowest) lowest = waitsFor;
    return lowest - this.#last;
  }

  get contiguous(): boolean {
    return this.#contiguous;
  }

  /**
   * The short way, for the next in line when nothing waits and nothing is kept: true when it was that, and the caller
   * takes it himself. Anything else goes through `place`.
   */
  advance(number: number, print: number): boolean {
    if (this.#last === undefined || number !== this.#last + 1 || this.#kept !== undefined || this.#held.size > 0)
      return false;
    this.#last = number;
    this.#prints[number % PRINTS] = print;
    return true;
  }

  place(item: T): Verdict {
    const { number } = item;
    const last = this.#last;
    if (last === undefined) {
      this.#take(item, item.contiguous === true);
      // A stream may begin anywhere, but none begins before 0, and ours begin with 1.
      if (number <= 1 && item.contiguous === true) this.#kept = undefined;
      return "taken";
    }
    const waitsFor = item.previous ?? number - 1;
    if (waitsFor === last && number > last) {
      // Those left out may come from somebody who leaves nothing out: not to be taken for others of long ago.
      for (let left = last + 1; left < number && left <= last + PRINTS; left++) this.#prints[left % PRINTS] = undefined;
      // The commonest case by far: next in line, and nothing waits.
      this.#take(item, this.#contiguous || item.contiguous === true);
      if (this.#held.size > 0) this.#release();
      return "taken";
    }
    if (number <= last) return this.#placeBehind(item, last);
    return this.#placeAhead(item, waitsFor);
  }

  #placeAhead(item: T, waitsFor: number): Verdict {
    const strict = this.#held.size > 0 || (this.#contiguous && item.contiguous !== false);
    // Where its predecessor lies behind us, a sender that left some out has sent all it will.
    if (!strict || waitsFor < (this.#last as number)) {
      this.#skipTo(item.number - 1);
      this.#take(item, item.contiguous === true);
      return "taken";
    }
    const held = this.#held.get(waitsFor);
    if (held !== undefined) return held.print === item.print ? "double" : "conflict";
    const { maxHeld, maxHeldCharacters } = this.#options;
    // What is put in order anew was held or kept before: nothing is added.
    const isFull = this.#held.size >= maxHeld || this.#heldCharacters + item.size > maxHeldCharacters;
    if (isFull && !this.#isReordering) return "full";
    this.#held.set(waitsFor, item);
    this.#heldCharacters += item.size;
    return "held";
  }

  #placeBehind(item: T, last: number): Verdict {
    const { number } = item;
    if (this.#wasSkipped(number)) return this.#kept === undefined ? "late" : this.#reorder(item);
    if (last - number < PRINTS) {
      const print = this.#prints[number % PRINTS];
      return print !== undefined && print !== item.print ? "conflict" : "double";
    }
    // Too long ago to remember each, but whoever begins anew under an old name shows it by his first frame.
    const isStart = item.contiguous !== undefined || number === this.#options.first;
    return isStart && this.#starts.size < MAX_STARTS && this.#starts.get(number) !== item.print ? "conflict" : "double";
  }

  /** Numbers that were not taken although higher ones were: jumped over, or before the first that came. */
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
    this.#prints[number % PRINTS] = item.print;
    if ((item.contiguous !== undefined || number === this.#options.first) && this.#starts.size < MAX_STARTS)
      this.#starts.set(number, item.print);
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

  /** Everything taken so far is taken again, with `item` in its place. */
  #reorder(item: T): Verdict {
    if (++this.#reorderings > MAX_REORDERINGS || !this.#options.reset()) {
      this.#kept = undefined;
      return "late";
    }
    const all = [...(this.#kept as T[]), item, ...this.#held.values()].sort((a, b) => a.number - b.number);
    this.#last = undefined;
    this.#contiguous = false;
    this.#skipped = [];
    this.#prints.length = 0;
    this.#held.clear();
    this.#heldCharacters = 0;
    this.#kept = [];
    this.#keptCharacters = 0;
    this.#starts.clear();
    this.#isReordering = true;
    for (const each of all) this.place(each);
    this.#isReordering = false;
    return "taken";
  }

  /** Forgets what is held: it will come again. */
  drop(): void {
    this.#held.clear();
    this.#heldCharacters = 0;
  }

  /** Nothing before this number will come any more. */
  jumpTo(number: number): void {
    this.skip();
    if (this.#last === undefined || number - 1 <= this.#last) return;
    this.#kept = undefined;
    this.#skipTo(number - 1);
    this.#last = number - 1;
  }

  /** It has taken this very frame, as far as it remembers. */
  hasTaken({ number, print }: Numbered): boolean {
    const last = this.#last ?? -1;
    return number <= last && last - number < PRINTS && this.#prints[number % PRINTS] === print;
  }

  /** Gives up what is missing: goes on with what is held, in order. Says how many numbers were given up. */
  skip(): number {
    let lost = 0;
    const waiting = [...this.#held.values()].sort((a, b) => a.number - b.number);
    this.#held.clear();
    this.#heldCharacters = 0;
    // What was lost cannot come in its place any more.
    if (waiting.length > 0) this.#kept = undefined;
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
