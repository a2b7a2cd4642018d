/** Whether a condition on the screen holds, for what styles alone cannot do. */
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

/** As in shell.css: no room for the list of sessions beside the conversation; none for the inspector either. */
export const NARROW = "(max-width: 59.99rem)";
export const NO_PANEL = "(max-width: 79.99rem)";
