/** The current time, updated every second, or the fixed time that the page provides. */
import { useEffect, useState, useSyncExternalStore } from "react";
import { useUi } from "./ui-context.tsx";

const TICK_MS = 1000;

export function useNow(): number {
  const given = useUi().now?.();
  const isGiven = given !== undefined;
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (isGiven) return;
    const timer = setInterval(() => setNow(Date.now()), TICK_MS);
    return () => clearInterval(timer);
  }, [isGiven]);
  return given ?? now;
}

/** Whether the device is offline, as the browser reports it. */
export function useIsOffline(): boolean {
  return useSyncExternalStore(subscribe, read, () => false);
}

function subscribe(listener: () => void): () => void {
  addEventListener("online", listener);
  addEventListener("offline", listener);
  return () => {
    removeEventListener("online", listener);
    removeEventListener("offline", listener);
  };
}

const read = (): boolean => !navigator.onLine;
