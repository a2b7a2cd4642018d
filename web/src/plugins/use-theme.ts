/** Tells drawings when the colors of the page change. */
import { useEffect, useState } from "react";

/** Returns a number that changes with the theme of the page or the system. */
export function useTheme(): number {
  const [count, setCount] = useState(0);
  useEffect(() => {
    const change = (): void => setCount((last) => last + 1);
    const system = matchMedia("(prefers-color-scheme: dark)");
    system.addEventListener("change", change);
    const observer = new MutationObserver(change);
    observer.observe(document.documentElement, { attributeFilter: ["data-theme", "class", "style"] });
    return () => {
      system.removeEventListener("change", change);
      observer.disconnect();
    };
  }, []);
  return count;
}
