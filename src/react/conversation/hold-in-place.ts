/**
 * What a reader opens or closes stays under their hand. At its end the list follows what grows, which would carry away the
 * very thing that was pressed; growth that nobody asked for is followed as before.
 */
const HELD_MS = 300;

/** `pressed` is the control that opens or closes something in a row of the list. */
export function holdInPlace(scroller: Element, pressed: Element): void {
  const row = pressed.closest(".loom-conversation-row");
  if (row === null) return;
  const top = pressed.getBoundingClientRect().top;
  // Told after the list itself, which watches the row for longer, and before anything is drawn.
  const observer = new ResizeObserver(() => {
    const moved = pressed.isConnected ? pressed.getBoundingClientRect().top - top : 0;
    if (Math.abs(moved) >= 1) scroller.scrollTop += moved;
  });
  observer.observe(row);
  setTimeout(() => observer.disconnect(), HELD_MS);
}
