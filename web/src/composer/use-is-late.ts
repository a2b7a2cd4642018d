/**
 * Returns true once the component has been mounted for this time. Used to delay spinners, so that they do not flash.
 */
import { useEffect, useState } from "react";

export function useIsLate(ms: number): boolean {
  const [isLate, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), ms);
    return () => clearTimeout(timer);
  }, [ms]);
  return isLate;
}
