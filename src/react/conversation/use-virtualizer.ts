/** React binding for `@tanstack/virtual-core`. Re-renders the component only when the visible rows change. */
import { elementScroll, observeElementOffset, observeElementRect, Virtualizer } from "@tanstack/virtual-core";
import { useLayoutEffect, useState, useSyncExternalStore } from "react";

type ElementVirtualizer = Virtualizer<HTMLElement, HTMLElement>;
/** Options of `@tanstack/virtual-core`; the observers and the scroll function have defaults. */
export type VirtualizerSettings = Pick<ElementVirtualizer["options"], "count" | "getScrollElement" | "estimateSize"> &
  Partial<ElementVirtualizer["options"]>;

/** Creates a virtualizer for a scrolling element and re-renders when its visible rows change. */
export function useVirtualizer(settings: VirtualizerSettings): ElementVirtualizer {
  const [changes] = useState(createCounter);
  const options = {
    observeElementRect,
    observeElementOffset,
    scrollToFn: elementScroll,
    ...settings,
    onChange: changes.add,
  };
  const [virtualizer] = useState(() => new Virtualizer<HTMLElement, HTMLElement>(options));
  virtualizer.setOptions(options);
  // React renders changes of an external store before the frame is painted, but state set by a scroll event after it:
  // fast scrolling would show no rows.
  useSyncExternalStore(changes.subscribe, changes.read, changes.read);
  useLayoutEffect(() => virtualizer._didMount(), [virtualizer]);
  useLayoutEffect(() => virtualizer._willUpdate());
  return virtualizer;
}

interface Counter {
  readonly add: () => void;
  readonly read: () => number;
  readonly subscribe: (listener: () => void) => () => void;
}

/** Counts the changes of one virtualizer, which has one component. */
function createCounter(): Counter {
  let count = 0;
  let notify: (() => void) | undefined;
  return {
    add() {
      count++;
      notify?.();
    },
    read: () => count,
    subscribe(listener) {
      notify = listener;
      return () => {
        notify = undefined;
      };
    },
  };
}
