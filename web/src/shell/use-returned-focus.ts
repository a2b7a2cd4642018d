/** The keyboard goes into what lies over the page, and when that closes back to where it was; it is never nowhere. */
import { type RefObject, useEffect, useRef } from "react";

/** For as long as the component is there. `isCovering`: what is behind it cannot be reached. */
export function useReturnedFocus(panel: RefObject<HTMLElement | null>, isCovering: boolean): void {
  const before = useRef<Element>(null);
  useEffect(() => {
    before.current = document.activeElement;
    return () => {
      const target = before.current;
      // Whoever has gone on elsewhere stays there.
      const isNowhere = document.activeElement === null || document.activeElement === document.body;
      if (isNowhere && target instanceof HTMLElement && target.isConnected) target.focus({ preventScroll: true });
    };
  }, []);
  useEffect(() => {
    if (isCovering) panel.current?.focus({ preventScroll: true });
  }, [isCovering, panel]);
}
