/** React binding for `@tanstack/virtual-core`. Re-renders the component only when the visible rows change. */
import { elementScroll, observeElementOffset, observeElementRect, Virtualizer } from "@tanstack/virtual-core";
import { useLayoutEffect, useReducer, useState } from "react";

type ElementVirtualizer = Virtualizer<HTMLElement, HTMLElement>;
/** Options of `@tanstack/virtual-core`; the observers and the scroll function have defaults. */
export type VirtualizerSettings = Pick<ElementVirtualizer["options"], "count" | "getScrollElement" | "estimateSize"> &
  Partial<ElementVirtualizer["options"]>;

/** Creates a virtualizer for a scrolling element and re-renders when its visible rows change. */
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
