/**
 * `useStore`: subscribes a component to a `Store`. The component re-renders only when the selected value changes
 * identity. Views share unchanged objects, so selecting a part of a view needs no comparison function.
 */
import { useMemo, useSyncExternalStore } from "react";
import type { ReadableStore } from "../client/index.ts";

/** Returns the current value of the store, also during server rendering and hydration. */
export function useStore<T>(store: ReadableStore<T>): T;
/** Returns `select(value)`. The selector runs once per change; if it builds a new object, each change re-renders. */
export function useStore<T, S>(store: ReadableStore<T>, select: (value: T) => S): S;
export function useStore<T, S>(store: ReadableStore<T>, select?: (value: T) => S): T | S {
  const subscribe = useMemo(() => (listener: () => void) => store.subscribe(listener), [store]);
  const read = useMemo(() => memoizeSelector(store, select), [store, select]);
  return useSyncExternalStore(subscribe, read, read);
}

/**
 * React may read several times per change and treats a new object as a change, so equal values must return the same
 * selection.
 */
function memoizeSelector<T, S>(store: ReadableStore<T>, select: ((value: T) => S) | undefined): () => T | S {
  if (select === undefined) return () => store.getSnapshot();
  let last: { readonly value: T; readonly selected: S } | undefined;
  return () => {
    const value = store.getSnapshot();
    if (last === undefined || !Object.is(last.value, value)) last = { value, selected: select(value) };
    return last.selected;
  };
}
