/**
 * Names that come from outside, made fit to be labels: without secrets and characters nobody can see, cut in length, and
 * limited in number. Models invent tool names, so there may be any number of them.
 */
import { createRedactor } from "../logs/create-redactor.ts";

export const DEFAULT_MAX_LABELS = 100;
/** Characters of one name. */
export const MAX_LABEL_LENGTH = 64;
/** Stands for all names beyond the limit. */
export const OTHER_LABEL = "other";

const MAX_LOOKED_AT = 1024;
const redactor = createRedactor();

export function cleanLabel(name: string): string {
  const seen = name.slice(0, MAX_LOOKED_AT).replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, "_");
  const safe = redactor.cleanText(seen, MAX_LABEL_LENGTH);
  // A pair of surrogates that was cut in two could not be written.
  return safe.slice(0, MAX_LABEL_LENGTH).toWellFormed();
}

/** The first so many names stay for good: what a scraper has seen must not go away. */
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

interface Mergeable<T> {
  merge(other: T): void;
}

/**
 * Something kept for each name, and for all that have no place of their own together. Which names have one must not hang
 * on the order they came in, or parts could not be added up: it is those that come first in the order of their letters.
 */
export class NamedParts<T extends Mergeable<T>> {
  readonly #parts = new Map<string, T>();
  readonly #maxLabels: number;
  readonly #create: () => T;
  /** The last of the names, while they are as many as there may be. */
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

  /** By name, in the order of letters; `other` last. */
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
