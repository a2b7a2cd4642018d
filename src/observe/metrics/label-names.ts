/**
 * Turns names from outside into metric labels: without secrets and invisible characters, limited in length and number.
 * Models invent tool names, so the number of names has no natural limit.
 */
import { BoundedMap } from "../../protocol/bounded-map.ts";
import { createRedactor } from "../logs/create-redactor.ts";

export const DEFAULT_MAX_LABELS = 100;
/** Maximum characters of a label. */
export const MAX_LABEL_LENGTH = 64;
/** Label for all names beyond the limit. */
export const OTHER_LABEL = "other";

const MAX_INPUT = 1024;
const MAX_RECENT = 1000;
/** Labels whose values come from outside. All others have a few known values. */
const OPEN_LABELS: ReadonlySet<string> = new Set(["agent", "model", "tool", "stage", "code"]);
/** Those that name the same in every metric, and so share one limit. Codes and stages are those of their metric. */
const SHARED_LABELS: ReadonlySet<string> = new Set(["agent", "model", "tool"]);
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

/** Labels within the limit. */
export interface LimitedLabels {
  readonly labels: MetricLabels;
  /** Identifies the labels: as text, equal for equal labels in the same order. */
  readonly key: string;
}

/**
 * Returns a function that cleans the labels from outside and keeps the first `maxLabels` of them forever, because a
 * scraped time series must not disappear. Of labels that occur together, it keeps the first pairs: separate limits would
 * allow their product.
 */
export function createLabelLimit(maxLabels: number): (metric: string, labels: MetricLabels) => LimitedLabels {
  /** By the names of the labels, or by metric if they are not shared. */
  const known = new Map<string, Set<string>>();
  /** Cleaning takes long, and labels recur. */
  const recent = new BoundedMap<LimitedLabels>(MAX_RECENT);
  const limit = (metric: string, labels: MetricLabels): LimitedLabels => {
    const all = Object.entries(labels);
    const open = all.filter(([label]) => OPEN_LABELS.has(label)).map(([label, name]) => [label, cleanLabel(name)]);
    const names = open.map(([label = ""]) => label);
    const kind = names.every((name) => SHARED_LABELS.has(name)) ? names.join() : metric;
    const values = JSON.stringify(open);
    let kept = known.get(kind);
    if (kept === undefined) known.set(kind, (kept = new Set()));
    const isOther = open.length > 0 && !kept.has(values) && kept.size >= maxLabels;
    if (!isOther) kept.add(values);
    const shown = isOther ? open.map(([label]) => [label, OTHER_LABEL]) : open;
    const limited = { ...labels, ...(Object.fromEntries(shown) as MetricLabels) };
    return { labels: limited, key: JSON.stringify(limited) };
  };
  return (metric, labels) => {
    let given = `${metric} `;
    for (const label in labels) given += `${label} ${labels[label]?.length} ${labels[label]} `;
    return given.length > MAX_INPUT ? limit(metric, labels) : recent.getOrCreate(given, () => limit(metric, labels));
  };
}
