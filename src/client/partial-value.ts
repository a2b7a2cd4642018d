/**
 * A JSON value under construction, readable at any time. It knows no text and no grammar: `PartialJson` tells it what
 * was found, in order.
 *
 * Invariants:
 * - What `read` gives is never changed afterwards. Parts that did not change since are the same objects.
 * - What `read` gives depends on what was found and at which offset, never on how often it was read before.
 * - Linear: reading copies the containers that are still open, and no others. Once those are large, copying them for each
 *   delta would make a long array quadratic. Then the value is renewed in steps instead, further apart the more a copy
 *   costs, so that all copies together cost a constant per character.
 */
import type { Json } from "../protocol/index.ts";

/** What a copy costs, in units of about a nanosecond: per container, per item of an array, per entry of an object. */
const CONTAINER_COST = 16;
const ITEM_COST = 1;
const ENTRY_COST = 32;
/** Open containers that cost no more than this to copy are always shown as they are. */
const LIVE_COST = 1024;
/** Beyond that, every character earns so much towards the next copy. */
const COST_PER_CHARACTER = 16;

/** A container that is still open. Its last value may be one that is itself still open. */
interface OpenContainer {
  /** Undefined in an array. May be one longer than `values`: a key whose value did not begin yet. */
  readonly keys: string[] | undefined;
  readonly values: Json[];
  /** How many of the values are settled. */
  settled: number;
  /** The last copy given out, and the unsettled value it ends with, if any. */
  shown: Json | undefined;
  shownLast: Json | undefined;
  /** `shown` lacks something that is settled. */
  isStale: boolean;
}

export class PartialValue {
  readonly #open: OpenContainer[] = [];
  #root: Json | undefined;
  /** A string under construction, where it ends what is known. */
  #text: string | undefined;
  #shown: Json | undefined;
  #isChanged = false;
  #cost = 0;
  /** Offset from which on a value that is shown in steps is due to be renewed; Infinity when it is shown as it is. */
  renewAt = Infinity;

  get depth(): number {
    return this.#open.length;
  }

  /** The innermost open container is an array. */
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

  /** The string that is under construction, as far as it came. */
  setText(text: string): void {
    this.#text = text;
    this.#isChanged = true;
  }

  /** A value is whole. */
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

  /** Renews a value that is shown in steps, when the time has come. */
  renewInStep(offset: number): void {
    if (offset < this.renewAt) return;
    this.#renew();
    this.renewAt = offset + this.#cost / COST_PER_CHARACTER;
  }

  /** Nothing more will come: what is known is shown whole. */
  end(): void {
    this.renewAt = Infinity;
  }

  /** Decides whether the value is shown as it is or in steps. The first step is at once, so nothing shown is taken back. */
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

/** The container as it stands, with the value that is open in it, if any. */
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

/** For an array this hands over its own list: only for one that is closed. */
function finish({ keys, values }: OpenContainer): Json {
  if (keys === undefined) return values;
  const object: Record<string, Json> = {};
  for (let i = 0; i < values.length; i++) {
    const key = keys[i] as string;
    const value = values[i] as Json;
    if (key === "__proto__") {
      // Assigning would set the prototype.
      Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
    } else object[key] = value;
  }
  return object;
}

/** Whether two states of one value are the same. A string only ever grows, so its length tells without reading it. */
function isSame(before: Json | undefined, now: Json): boolean {
  if (typeof before === "string" && typeof now === "string") return before.length === now.length;
  return before === now;
}
