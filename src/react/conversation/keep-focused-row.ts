/**
 * Which rows of a virtual list are there: those that can be seen, and the one the keyboard is in. Without it, whoever goes
 * through the list by keyboard would lose their place, and what they were writing its cursor, once it is out of sight.
 */
import { defaultRangeExtractor, type Range } from "@tanstack/virtual-core";

/** In order; `focused` is -1 where the focus is elsewhere. */
export function keepFocusedRow(range: Range, focused: number): number[] {
  const rows = defaultRangeExtractor(range);
  if (focused < 0 || focused >= range.count || rows.includes(focused)) return rows;
  return focused < (rows[0] ?? 0) ? [focused, ...rows] : [...rows, focused];
}

/** The run that has the focus, by its key; undefined where none has. */
export function findFocusedTurn(scroller: Element | null): string | undefined {
  const active = scroller?.ownerDocument.activeElement;
  if (scroller === null || active === null || active === undefined || !scroller.contains(active)) return undefined;
  return active.closest("[data-turn]")?.getAttribute("data-turn") ?? undefined;
}
