/**
 * How the list of runs scrolls: it stays at its end when its size changes, keeps a pressed toggle in position, and
 * renders the focused row even when it is scrolled away.
 */
import { defaultRangeExtractor, type Range } from "@tanstack/virtual-core";

/** How long a toggle is kept in position after it was pressed. */
const HOLD_MS = 300;

/**
 * Keeps a toggle in position while its content opens or closes. The list follows its end as it grows and would
 * otherwise scroll the toggle away from the pointer. `pressed` is a control that opens or closes content in a row.
 */
export function holdInPlace(scroller: Element, pressed: Element): void {
  const row = pressed.closest(".loom-conversation-row");
  if (row === null) return;
  const top = pressed.getBoundingClientRect().top;
  // Runs after the list's own observer and before painting, because the list has observed the row for longer.
  const observer = new ResizeObserver(() => {
    const moved = pressed.isConnected ? pressed.getBoundingClientRect().top - top : 0;
    if (Math.abs(moved) >= 1) scroller.scrollTop += moved;
  });
  observer.observe(row);
  setTimeout(() => observer.disconnect(), HOLD_MS);
}

/**
 * Selects the rows that a virtual list renders: the visible ones and the focused one. Without the latter, scrolling
 * would drop keyboard focus and the text cursor. Returns row indexes in order; `focused` is -1 if the focus is elsewhere.
 */
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

/**
 * Keeps a scroller at its end when its size changes: a virtual keyboard opens, the composer grows, the window narrows.
 * Returns a function that stops it.
 */
export function stayAtEnd(scroller: Element, endPx: number, goToEnd: () => void): () => void {
  // Recorded on scroll only: a size change moves the end, not the reader.
  let isAtEnd = true;
  const note = (): void => {
    isAtEnd = scroller.scrollHeight - scroller.clientHeight - scroller.scrollTop <= endPx;
  };
  const observer = new ResizeObserver(() => {
    if (isAtEnd) goToEnd();
  });
  scroller.addEventListener("scroll", note, { passive: true });
  observer.observe(scroller);
  return () => {
    scroller.removeEventListener("scroll", note);
    observer.disconnect();
  };
}
