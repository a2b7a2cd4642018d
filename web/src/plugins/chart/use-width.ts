/** Returns the width of an element, updated after resizing has settled: each new width redraws the chart. */
import { type RefObject, useEffect, useState } from "react";

const SETTLE_MS = 150;

export function useWidth(element: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    if (element.current === null) return undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const observer = new ResizeObserver(([entry]) => {
      const next = Math.floor(entry?.contentRect.width ?? 0);
      clearTimeout(timer);
      timer = setTimeout(() => setWidth(next), SETTLE_MS);
    });
    observer.observe(element.current);
    setWidth(Math.floor(element.current.clientWidth));
    return () => {
      clearTimeout(timer);
      observer.disconnect();
    };
  }, [element]);
  return width;
}
