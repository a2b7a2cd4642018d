/**
 * Requests to show an element that may be folded or outside the rendered region. They are DOM events on the element of
 * the run, so sender and receiver need not know each other.
 */
import { type RefObject, useEffect } from "react";
import type { ElementTarget } from "../ui/ui-context.tsx";

const REVEAL_EVENT = "loom-reveal";

/** Asks the components inside a run's element to render the target. */
export function requestReveal(run: Element, target: ElementTarget): void {
  run.dispatchEvent(new CustomEvent<ElementTarget>(REVEAL_EVENT, { detail: target }));
}

export function useRevealRequest(
  inside: RefObject<Element | null>,
  kind: ElementTarget["kind"],
  onReveal: (key: string) => void,
): void {
  useEffect(() => {
    const run = inside.current?.closest("[data-turn]");
    if (run === null || run === undefined) return undefined;
    const listen = (event: Event): void => {
      const { detail } = event as CustomEvent<ElementTarget>;
      if (detail.kind === kind) onReveal(detail.key);
    };
    run.addEventListener(REVEAL_EVENT, listen);
    return () => run.removeEventListener(REVEAL_EVENT, listen);
  });
}
