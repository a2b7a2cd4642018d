/**
 * A store in a component. The component renders anew only when what it selects became another object; views share what
 * did not change, so a selector that picks a part of one needs no comparison.
 */
import { useMemo, useSyncExternalStore } from "react";
import type { Store } from "../client/index.ts";

/** The same on a server and while a page is taken over from one: what the store holds. */
export function useStore<T>(store: Store<T>): T;
/** A selector that builds something new is run once per change, and then makes the component render. */
export function useStore<T, S>(store: Store<T>, select: (value: T) => S): S;
export function useStore<T, S>(store: Store<T>, select?: (value: T) => S): T | S {
  const subscribe = useMemo(() => (listener: () => void) => store.subscribe(listener), [store]);
  const read = useMemo(() => rememberSelection(store, select), [store, select]);
  return useSyncExternalStore(subscribe, read, read);
}

/** React reads more than once per change and takes a new object for a change: the same value gives the same selection. */
function rememberSelection<T, S>(store: Store<T>, select: ((value: T) => S) | undefined): () => T | S {
  if (select === undefined) return () => store.getSnapshot();
  let last: { readonly value: T; readonly selected: S } | undefined;
  return () => {
    const value = store.getSnapshot();
    if (last === undefined || !Object.is(last.value, value)) last = { value, selected: select(value) };
    return last.selected;
  };
}
