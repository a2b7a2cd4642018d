/** Checks for lists of IDs in trees and graphs of thoughts. */
import type { IssueReporter } from "./lifecycle-rules.ts";

/** Longer IDs are not stored. */
const MAX_ID_LENGTH = 1000;

/** Shortens an ID for a message. */
export function shortenId(id: string): string {
  return id.slice(0, 80);
}

/** Reports the first ID that is too long. Returns true if there is one; the event must then be ignored. */
export function reportLongId(ids: Iterable<string | undefined>, report: IssueReporter): boolean {
  for (const id of ids) {
    if (id === undefined || id.length <= MAX_ID_LENGTH) continue;
    report("thought-id-length", `${shortenId(id)}… has ${id.length} characters`);
    return true;
  }
  return false;
}

export function reportDuplicate(name: string, ids: readonly string[], report: IssueReporter): void {
  const seen = new Set<string>();
  const twice = ids.find((id) => seen.size === seen.add(id).size);
  if (twice !== undefined) report("thought-id-twice", `${name} contains ${shortenId(twice)} twice`);
}

export function reportLengthMismatch(
  name: string,
  list: readonly string[] | undefined,
  other: string,
  length: number,
  report: IssueReporter,
): void {
  if (list !== undefined && list.length !== length)
    report("thought-ids", `${name} has ${list.length} entries, but ${other} has ${length}`);
}
