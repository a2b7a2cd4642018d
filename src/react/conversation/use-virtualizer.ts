/**
 * A virtual list in a component: only what can be seen, and a little around it, is there. The library knows no framework;
 * this renders its component anew when other rows are to be shown, and no more often.
 */
import { elementScroll, observeElementOffset, observeElementRect, Virtualizer } from "@tanstack/virtual-core";
import { useLayoutEffect, useReducer, useState } from "react";

type ElementVirtualizer = Virtualizer<HTMLElement, HTMLElement>;
export type VirtualizerSettings = Pick<ElementVirtualizer["options"], "count" | "getScrollElement" | "estimateSize"> &
  Partial<ElementVirtualizer["options"]>;

export function useVirtualizer(settings: VirtualizerSettings): ElementVirtualizer {
  const [, render] = useReducer((count: number) => count + 1, 0);
  const options = {
    observeElementRect,
    observeElementOffset,
    scrollToFn: elementScroll,
    ...settings,
    onChange: () => render(),
  };
  const [virtualizer] = useState(() => new Virtualizer<HTMLElement, HTMLElement>(options));
  virtualizer.setOptions(options);
  useLayoutEffect(() => virtualizer._didMount(), [virtualizer]);
  useLayoutEffect(() => virtualizer._willUpdate());
  return virtualizer;
}
