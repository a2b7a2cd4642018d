/** Rules of lists of ids that trees and graphs of thoughts share. */
import type { Report } from "./rules.ts";

/** Longer ids are not remembered. */
const MAX_ID_LENGTH = 1000;

/** An id in a message. */
export function nameId(id: string): string {
  return id.slice(0, 80);
}

/** True where one is too long: nothing else is to be made of them. */
export function reportLong(ids: Iterable<string | undefined>, report: Report): boolean {
  for (const id of ids) {
    if (id === undefined || id.length <= MAX_ID_LENGTH) continue;
    report("thought-id-length", `${nameId(id)}… has ${id.length} characters`);
    return true;
  }
  return false;
}

export function reportTwice(name: string, ids: readonly string[], report: Report): void {
  const seen = new Set<string>();
  const twice = ids.find((id) => seen.size === seen.add(id).size);
  if (twice !== undefined) report("thought-id-twice", `${name} has ${nameId(twice)} twice`);
}

export function reportOtherLength(
  name: string,
  list: readonly string[] | undefined,
  other: string,
  length: number,
  report: Report,
): void {
  if (list !== undefined && list.length !== length)
    report("thought-ids", `${name} has ${list.length} entries, ${other} has ${length}`);
}
