/**
 * Turns names from outside into metric labels: without secrets and invisible characters, limited in length and number.
 * Models invent tool names, so the number of names has no natural limit.
 */
import { createRedactor } from "../logs/create-redactor.ts";

export const DEFAULT_MAX_LABELS = 100;
/** Maximum characters of a label. */
export const MAX_LABEL_LENGTH = 64;
/** Label for all names beyond the limit. */
export const OTHER_LABEL = "other";

const MAX_INPUT = 1024;
const redactor = createRedactor();

/** Returns a name without secrets and control characters, cut to `MAX_LABEL_LENGTH`. */
export function cleanLabel(name: string): string {
  const seen = name.slice(0, MAX_INPUT).replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, "_");
  const safe = redactor.cleanText(seen, MAX_LABEL_LENGTH);
  // A cut surrogate pair could not be encoded.
  return safe.slice(0, MAX_LABEL_LENGTH).toWellFormed();
}

/**
 * Returns a function that keeps the first `maxLabels` names forever, because a scraped time series must not disappear.
 */
export function createLabelLimit(maxLabels: number = DEFAULT_MAX_LABELS): (name: string) => string {
  const known = new Set<string>();
  return (name) => {
    const label = cleanLabel(name);
    if (known.has(label)) return label;
    if (known.size >= maxLabels) return OTHER_LABEL;
    known.add(label);
    return label;
  };
}

export interface Mergeable<T> {
  merge(other: T): void;
}

/**
 * One part per name, and one for all names beyond the limit. The names first in alphabetical order are kept, so that
 * merging does not depend on the order in which names arrive.
 */
export class NamedParts<T extends Mergeable<T>> {
  readonly #parts = new Map<string, T>();
  readonly #maxLabels: number;
  readonly #create: () => T;
  /** The last name in alphabetical order, once the limit is reached. */
  #last: string | undefined;
  #other: T | undefined;

  constructor(create: () => T, maxLabels: number) {
    this.#create = create;
    this.#maxLabels = maxLabels;
  }

  at(name: string): T {
    return this.#at(cleanLabel(name));
  }

  #at(label: string): T {
    const known = this.#parts.get(label);
    if (known !== undefined) return known;
    const isLate = this.#maxLabels === 0 || (this.#last !== undefined && label > this.#last);
    if (isLate || label === OTHER_LABEL) return (this.#other ??= this.#create());
    const made = this.#create();
    this.#parts.set(label, made);
    if (this.#parts.size > this.#maxLabels) this.#drop(this.#last as string);
    if (this.#parts.size === this.#maxLabels) this.#last = findLast(this.#parts.keys());
    return made;
  }

  merge(other: NamedParts<T>): void {
    for (const [name, part] of other.#parts) this.#at(name).merge(part);
    if (other.#other !== undefined) (this.#other ??= this.#create()).merge(other.#other);
  }

  /** Returns the parts sorted by name, with `other` last. */
  summarize<S>(describe: (part: T) => S): { readonly [name: string]: S } {
    const named = [...this.#parts].toSorted(([a], [b]) => (a < b ? -1 : 1));
    if (this.#other !== undefined) named.push([OTHER_LABEL, this.#other]);
    return Object.fromEntries(named.map(([name, part]) => [name, describe(part)]));
  }

  #drop(name: string): void {
    const gone = this.#parts.get(name);
    if (gone === undefined) return;
    this.#parts.delete(name);
    (this.#other ??= this.#create()).merge(gone);
  }
}

function findLast(names: Iterable<string>): string | undefined {
  let last: string | undefined;
  for (const name of names) if (last === undefined || name > last) last = name;
  return last;
}
