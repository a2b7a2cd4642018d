/** Moves focus into a panel that covers the page, and restores it when the panel closes. */
import { type RefObject, useEffect, useRef } from "react";

/** Active while the component is mounted. `isCovering`: the panel covers the page. */
export function useRestoreFocus(panel: RefObject<HTMLElement | null>, isCovering: boolean): void {
  const before = useRef<Element>(null);
  useEffect(() => {
    before.current = document.activeElement;
    return () => {
      const target = before.current;
      // Leave focus alone if the user has moved it.
      const isNowhere = document.activeElement === null || document.activeElement === document.body;
      if (isNowhere && target instanceof HTMLElement && target.isConnected) target.focus({ preventScroll: true });
    };
  }, []);
  useEffect(() => {
    if (isCovering) panel.current?.focus({ preventScroll: true });
  }, [isCovering, panel]);
}
