/**
 * How the list of runs scrolls: it stays at its end when its size changes, keeps a pressed toggle in position, lands on
 * the beginning of an answer after a search, and renders the focused row even when it is scrolled away.
 */
import { defaultRangeExtractor, type Range } from "@tanstack/virtual-core";
import { requestReveal } from "../thoughts/use-reveal-request.ts";
import type { ElementTarget } from "../ui/ui-context.tsx";

/** The reader counts as at the end within this distance. */
export const END_PX = 80;

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

/** Space above the first line that is kept in view. */
const TOP_PX = 8;

/** Scrollers whose reader is at the end. A size change moves the end, not the reader. */
const AT_END = new WeakSet<Element>();

/** What stops `holdBeginning`, by scroller. */
const HELD = new WeakMap<Element, () => void>();

/**
 * Keeps the line above an answer in view while the answer grows: the list follows its end only until the line reaches
 * the top. Does nothing if the reader is not at the end, unless the conversation is being opened. Ends when the reader
 * scrolls, or with `releaseBeginning`. Returns a function that ends it.
 */
export function holdBeginning(
  scroller: Element,
  line: Element,
  { isOpening = false }: { readonly isOpening?: boolean } = {},
): (() => void) | undefined {
  const row = line.closest(".loom-conversation-row");
  if (row === null || (!isOpening && !AT_END.has(scroller))) return undefined;
  releaseBeginning(scroller);
  const over = new AbortController();
  const correct = (): void => {
    const hidden = scroller.getBoundingClientRect().top + TOP_PX - line.getBoundingClientRect().top;
    if (line.isConnected && hidden >= 1) scroller.scrollTop -= hidden;
  };
  // Runs after the list's own observer and before painting, because the list has observed the row for longer.
  const observer = new ResizeObserver(correct);
  observer.observe(row);
  // The list scrolls once more when it has set its new height.
  const heights = new MutationObserver(correct);
  if (row.parentElement !== null) heights.observe(row.parentElement, { attributeFilter: ["style"] });
  const stop = (): void => {
    observer.disconnect();
    heights.disconnect();
    over.abort();
    if (HELD.get(scroller) === stop) HELD.delete(scroller);
  };
  HELD.set(scroller, stop);
  if (isOpening) correct();
  const options = { signal: over.signal, passive: true } as const;
  scroller.addEventListener("scroll", correct, options);
  for (const type of ["wheel", "touchmove", "pointerdown", "keydown"]) scroller.addEventListener(type, stop, options);
  return stop;
}

/** Lets the list scroll freely again. */
export function releaseBeginning(scroller: Element | null): void {
  if (scroller !== null) HELD.get(scroller)?.();
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
export function stayAtEnd(scroller: Element, goToEnd: () => void): () => void {
  AT_END.add(scroller);
  const note = (): void => {
    const { scrollHeight, clientHeight, scrollTop } = scroller;
    if (scrollHeight - clientHeight - scrollTop <= END_PX) AT_END.add(scroller);
    else AT_END.delete(scroller);
  };
  const observer = new ResizeObserver(() => {
    if (AT_END.has(scroller)) goToEnd();
  });
  scroller.addEventListener("scroll", note, { passive: true });
  observer.observe(scroller);
  return () => {
    scroller.removeEventListener("scroll", note);
    observer.disconnect();
  };
}

const HIGHLIGHT_MS = 1600;
/** Animation frames to wait for the row to render. */
const MAX_FRAMES = 30;

function findElement(root: ParentNode, { turn, kind, key }: ElementTarget): Element | undefined {
  const run = root.querySelector(`[data-turn="${CSS.escape(turn)}"]`);
  if (run === null || kind === "turn") return run ?? undefined;
  return run.querySelector(`[data-${kind}="${CSS.escape(key)}"]`) ?? undefined;
}

/**
 * Scrolls an element of a run into view and highlights it briefly. Retries until the list has rendered the row, up to
 * `MAX_FRAMES`; then falls back to the run.
 */
export function showElement(root: ParentNode, target: ElementTarget): void {
  let frames = 0;
  let isRequested = false;
  const tryToShow = (): void => {
    const run = findElement(root, toTurn(target));
    // Folded or off-screen elements are not in the document until a reveal is requested.
    if (run !== undefined && !isRequested) {
      isRequested = true;
      requestReveal(run, target);
    }
    const found = findElement(root, target) ?? (frames >= MAX_FRAMES ? run : undefined);
    if (found !== undefined) highlight(found);
    else if (frames++ < MAX_FRAMES) requestAnimationFrame(tryToShow);
  };
  requestAnimationFrame(tryToShow);
}

const toTurn = ({ turn }: ElementTarget): ElementTarget => ({ turn, kind: "turn", key: "" });

function highlight(element: Element): void {
  element.scrollIntoView({ block: "center" });
  element.setAttribute("data-marked", "");
  setTimeout(() => element.removeAttribute("data-marked"), HIGHLIGHT_MS);
  const target = element.closest<HTMLElement>("[tabindex]") ?? undefined;
  target?.focus({ preventScroll: true });
}
