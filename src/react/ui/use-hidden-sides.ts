/**
 * Marks an element that scrolls sideways with the sides where content is hidden: `data-hidden-sides` is `start`, `end` or
 * `both`. Style sheets fade these sides. The attribute is set without rendering.
 */
import { type RefObject, useEffect } from "react";

/** Positions are fractions of a pixel on some screens. */
const TOLERANCE_PX = 2;

/** Marks the sides of a scrolling element where content is hidden, for style sheets: `data-hidden-sides`. */
export function useHiddenSides(element: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const scroller = element.current;
    if (scroller === null || typeof ResizeObserver === "undefined") return undefined;
    const update = (): void => {
      const { scrollLeft, scrollWidth, clientWidth } = scroller;
      const start = Math.abs(scrollLeft) > TOLERANCE_PX;
      const end = scrollWidth - clientWidth - Math.abs(scrollLeft) > TOLERANCE_PX;
      const sides = start && end ? "both" : start ? "start" : end ? "end" : undefined;
      if (sides === undefined) delete scroller.dataset["hiddenSides"];
      else scroller.dataset["hiddenSides"] = sides;
    };
    const observer = new ResizeObserver(update);
    observer.observe(scroller);
    // A table that grows makes its content wider, not the scroller.
    for (const child of scroller.children) observer.observe(child);
    scroller.addEventListener("scroll", update, { passive: true });
    return () => {
      observer.disconnect();
      scroller.removeEventListener("scroll", update);
    };
  }, [element]);
}
