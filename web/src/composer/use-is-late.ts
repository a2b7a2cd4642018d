/** Whether so much time has passed since the component came: what takes no longer need not be spoken of. */
import { useEffect, useState } from "react";

export function useIsLate(ms: number): boolean {
  const [isLate, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), ms);
    return () => clearTimeout(timer);
  }, [ms]);
  return isLate;
}

/** Most messages arrive before anybody could read that they are on their way. */
export const SENDING_MS = 400;
