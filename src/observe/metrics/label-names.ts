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
/** Labels whose values come from outside. All others have a few known values. */
const OPEN_LABELS: ReadonlySet<string> = new Set(["agent", "model", "tool", "stage", "code"]);
const redactor = createRedactor();

export interface MetricLabels {
  readonly [label: string]: string;
}

/** Returns a name without secrets and control characters, cut to `MAX_LABEL_LENGTH`. */
export function cleanLabel(name: string): string {
  const seen = name.slice(0, MAX_INPUT).replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, "_");
  const safe = redactor.cleanText(seen, MAX_LABEL_LENGTH);
  // A cut surrogate pair could not be encoded.
  return safe.slice(0, MAX_LABEL_LENGTH).toWellFormed();
}

/**
 * Returns a function that cleans the labels from outside and keeps the first `maxLabels` of them forever, because a
 * scraped time series must not disappear. Of labels that occur together, it keeps the first pairs: separate limits would
 * allow their product.
 */
export function createLabelLimit(maxLabels: number): (labels: MetricLabels) => MetricLabels {
  /** By the names of the labels. */
  const known = new Map<string, Set<string>>();
  return (labels) => {
    const open = Object.entries(labels).filter(([label]) => OPEN_LABELS.has(label));
    if (open.length === 0) return labels;
    const kind = open.map(([label]) => label).join();
    const cleaned = open.map(([label, name]) => [label, cleanLabel(name)] as const);
    const values = JSON.stringify(cleaned);
    let all = known.get(kind);
    if (all === undefined) known.set(kind, (all = new Set()));
    if (!all.has(values) && all.size >= maxLabels)
      return { ...labels, ...Object.fromEntries(open.map(([label]) => [label, OTHER_LABEL])) };
    all.add(values);
    return { ...labels, ...Object.fromEntries(cleaned) };
  };
}
