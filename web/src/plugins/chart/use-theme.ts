/** A number that changes when the colours of the page do: by its own switch, or by the system's. */
import { useEffect, useState } from "react";

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
