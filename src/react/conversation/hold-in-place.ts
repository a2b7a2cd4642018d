/**
 * Keeps a toggle in position while its content opens or closes. The list follows its end as it grows and would
 * otherwise scroll the toggle away from the pointer.
 */
const HOLD_MS = 300;

/** `pressed` is a control that opens or closes content in a row of the list. */
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
