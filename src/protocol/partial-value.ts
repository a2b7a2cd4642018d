/**
 * A JSON value under construction that can be read at any time. It knows no grammar: `PartialJson` reports what it
 * parsed, in order.
 *
 * Invariants:
 * - A value returned by `read` never changes. Unchanged parts keep their identity.
 * - The result of `read` depends on what was parsed and at which offset, not on earlier reads.
 * - Total cost is linear. A read copies only open containers. Copying large ones for each piece would be quadratic, so
 *   large values are updated in steps whose distance grows with the cost of a copy.
 */
import { type Json, setOwn } from "./json.ts";

/** Cost of a copy in units of about a nanosecond: per container, per array item, per object entry. */
const CONTAINER_COST = 16;
const ITEM_COST = 1;
const ENTRY_COST = 32;
/** Open containers up to this cost are always shown up to date. */
const LIVE_COST = 1024;
/** Above LIVE_COST, each character earns this much towards the next copy. */
const COST_PER_CHARACTER = 16;

/** An open container. Its last value may be open too. */
interface OpenContainer {
  /** Undefined for an array. May have one more entry than `values`: a key whose value has not begun. */
  readonly keys: string[] | undefined;
  readonly values: Json[];
  /** Number of complete values. */
  settled: number;
  /** The last copy returned. */
  shown: Json | undefined;
  /** The open value that `shown` ends with, if any. */
  shownLast: Json | undefined;
  /** `shown` lacks a complete value. */
  isStale: boolean;
}

export class PartialValue {
  readonly #open: OpenContainer[] = [];
  #root: Json | undefined;
  /** The unfinished string, if the value so far ends with one. */
  #text: string | undefined;
  #shown: Json | undefined;
  #isChanged = false;
  #cost = 0;
  /** Offset at which a value shown in steps is updated next; Infinity when it is always up to date. */
  renewAt = Infinity;

  get depth(): number {
    return this.#open.length;
  }

  /** True if the innermost open container is an array. */
  get isInArray(): boolean {
    return this.#open.at(-1)?.keys === undefined;
  }

  read(): Json | undefined {
    if (this.renewAt === Infinity) this.#renew();
    return this.#shown;
  }

  openContainer(isArray: boolean, offset: number): void {
    const keys = isArray ? undefined : [];
    this.#open.push({ keys, values: [], settled: 0, shown: undefined, shownLast: undefined, isStale: true });
    this.#isChanged = true;
    this.#cost += CONTAINER_COST;
    this.#follow(offset);
  }

  closeContainer(offset: number): void {
    const container = this.#open.pop();
    if (container === undefined) return;
    this.#cost -= CONTAINER_COST + container.settled * costPerValue(container);
    this.settle(container.isStale ? finish(container) : (container.shown ?? null), offset);
  }

  addKey(key: string): void {
    this.#open.at(-1)?.keys?.push(key);
  }

  /** Sets the unfinished string. */
  setText(text: string): void {
    this.#text = text;
    this.#isChanged = true;
  }

  /** Adds a complete value. */
  settle(value: Json, offset: number): void {
    this.#text = undefined;
    this.#isChanged = true;
    const container = this.#open.at(-1);
    if (container === undefined) {
      this.#root = value;
    } else {
      if (!isSame(container.shownLast, value)) container.isStale = true;
      container.shownLast = undefined;
      container.values[container.settled++] = value;
      this.#cost += costPerValue(container);
    }
    this.#follow(offset);
  }

  /** Updates a value shown in steps, if it is due. */
  renewInStep(offset: number): void {
    if (offset < this.renewAt) return;
    this.#renew();
    this.renewAt = offset + this.#cost / COST_PER_CHARACTER;
  }

  /** Ends the value, so that it is shown completely. */
  end(): void {
    this.renewAt = Infinity;
  }

  /** Chooses between live updates and steps. The first step is immediate, so a shown value never shrinks. */
  #follow(offset: number): void {
    if (this.#cost <= LIVE_COST) return this.end();
    if (this.renewAt === Infinity) this.renewAt = offset;
    this.renewInStep(offset);
  }

  #renew(): void {
    if (!this.#isChanged) return;
    this.#isChanged = false;
    let last: Json | undefined = this.#text;
    for (let i = this.#open.length - 1; i >= 0; i--) last = show(this.#open[i] as OpenContainer, last);
    this.#shown = last ?? this.#root;
  }
}

function costPerValue({ keys }: OpenContainer): number {
  return keys === undefined ? ITEM_COST : ENTRY_COST;
}

/** Returns the container with its open last value, if any. */
function show(container: OpenContainer, last: Json | undefined): Json {
  if (last !== undefined && !isSame(container.shownLast, last)) {
    container.values[container.settled] = last;
    container.shownLast = last;
    container.isStale = true;
  }
  if (container.isStale || container.shown === undefined) {
    container.shown = container.keys === undefined ? container.values.slice() : finish(container);
    container.isStale = false;
  }
  return container.shown;
}

/** Returns the list of an array itself, so only use it for closed arrays. */
function finish({ keys, values }: OpenContainer): Json {
  if (keys === undefined) return values;
  const object: Record<string, Json> = {};
  for (let i = 0; i < values.length; i++) setOwn(object, keys[i] as string, values[i] as Json);
  return object;
}

/** Compares two states of one value. A string only grows, so comparing lengths is enough. */
function isSame(before: Json | undefined, now: Json): boolean {
  if (typeof before === "string" && typeof now === "string") return before.length === now.length;
  return before === now;
}
