/**
 * Selects the rows that a virtual list renders: the visible ones and the focused one. Without the latter, scrolling
 * would drop keyboard focus and the text cursor.
 */
import { defaultRangeExtractor, type Range } from "@tanstack/virtual-core";

/** Returns row indexes in order. `focused` is -1 if the focus is elsewhere. */
export function keepFocusedRow(range: Range, focused: number): number[] {
  const rows = defaultRangeExtractor(range);
  if (focused < 0 || focused >= range.count || rows.includes(focused)) return rows;
  return focused < (rows[0] ?? 0) ? [focused, ...rows] : [...rows, focused];
}

/** Returns the key of the focused run, or undefined. */
export function findFocusedTurn(scroller: Element | null): string | undefined {
  const active = scroller?.ownerDocument.activeElement;
  if (scroller === null || active === null || active === undefined || !scroller.contains(active)) return undefined;
  return active.closest("[data-turn]")?.getAttribute("data-turn") ?? undefined;
}
