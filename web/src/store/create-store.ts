/** Store driven by a pure reducer. It depends on neither the page nor React. */
import type { ReadableStore } from "loom-agent/client";

export interface ReducerStore<S, A> extends ReadableStore<S> {
  dispatch(action: A): void;
}

export function createStore<S, A>(reduce: (state: S, action: A) => S, initial: S): ReducerStore<S, A> {
  const listeners = new Set<{ readonly listener: () => void }>();
  let state = initial;
  return {
    getSnapshot: () => state,
    subscribe(listener) {
      const entry = { listener };
      listeners.add(entry);
      return () => void listeners.delete(entry);
    },
    dispatch(action) {
      const next = reduce(state, action);
      if (next === state) return;
      state = next;
      for (const { listener } of Array.from(listeners)) listener();
    },
  };
}
