/** Returns whether a media query matches. */
import { useMemo, useSyncExternalStore } from "react";

export function useMedia(query: string): boolean {
  const [subscribe, read] = useMemo(() => {
    const list = matchMedia(query);
    return [
      (listener: () => void) => {
        list.addEventListener("change", listener);
        return () => list.removeEventListener("change", listener);
      },
      () => list.matches,
    ] as const;
  }, [query]);
  return useSyncExternalStore(subscribe, read);
}

/** Breakpoints of shell.css: too narrow for the session list, and for the inspector. */
export const NARROW = "(max-width: 59.99rem)";
export const NO_PANEL = "(max-width: 79.99rem)";
/** With so much space, the message box of an empty session is in the middle. */
export const ROOMY = "(min-width: 60rem) and (min-height: 40rem)";
