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
