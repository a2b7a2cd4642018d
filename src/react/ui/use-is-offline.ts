/** Whether the device is offline, as the browser reports it. */
import { useSyncExternalStore } from "react";

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
