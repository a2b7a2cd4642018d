/** The kinds of channels, as plain data. `state-patch` of the protocol defines how their writes are stored. */
import type { Channel } from "./graph.ts";

/** A channel with one value. A write replaces it. */
export function replace<T>(initial: T): Channel<T> {
  return { kind: "replace", initial };
}

/** A channel with a list. A write is a list of items that are added at the end. */
export function append<T>(initial: readonly T[] = []): Channel<readonly T[]> {
  return { kind: "append", initial };
}

/** A channel with an object. A write is an object whose entries are added or replaced. */
export function merge<T>(initial: { readonly [key: string]: T } = {}): Channel<{ readonly [key: string]: T }> {
  return { kind: "merge", initial };
}

/**
 * A channel with any value and a reducer. The reducer returns the value after a write, and must not modify its
 * arguments.
 */
export function custom<Value, Write = Value>(
  initial: Value,
  reduce: (value: Value, write: Write) => Value,
): Channel<Value, Write> {
  return { kind: "custom", initial, reduce };
}
