/**
 * Told when something of a run is to be shown that may be folded, or outside of what is drawn: whoever has it brings it
 * into the document. The run's element is told by an event, since neither knows the other.
 */
import { type RefObject, useEffect } from "react";
import type { ElementPlace } from "../ui/ui-context.tsx";

const ASK_EVENT = "loom-ask";

/** Asks all that is inside of a run's element. */
export function askToShow(run: Element, place: ElementPlace): void {
  run.dispatchEvent(new CustomEvent<ElementPlace>(ASK_EVENT, { detail: place }));
}

export function useAsked(
  inside: RefObject<Element | null>,
  kind: ElementPlace["kind"],
  onAsk: (key: string) => void,
): void {
  useEffect(() => {
    const run = inside.current?.closest("[data-turn]");
    if (run === null || run === undefined) return undefined;
    const hear = (event: Event): void => {
      const { detail } = event as CustomEvent<ElementPlace>;
      if (detail.kind === kind) onAsk(detail.key);
    };
    run.addEventListener(ASK_EVENT, hear);
    return () => run.removeEventListener(ASK_EVENT, hear);
  });
}
