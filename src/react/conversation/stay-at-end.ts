/**
 * Who reads the end still sees it when the room becomes smaller: a keyboard comes up on a telephone, a message of many
 * lines is written below, the window is made narrow. It knows the scroller alone, not what is in it.
 */
export function stayAtEnd(scroller: Element, endPx: number, goToEnd: () => void): () => void {
  // As it was when somebody last scrolled: a change of size moves the end, not the reader.
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
