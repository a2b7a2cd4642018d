/**
 * The kinds of channels. Each is plain data; `state-patch` of the protocol says how its writes are stored.
 */
import type { Channel } from "./graph.ts";

/** The last write is the value. */
export function replace<T>(initial: T): Channel<T> {
  return { kind: "replace", initial };
}

/** A list; a write is what is put at its end. */
export function append<T>(initial: readonly T[] = []): Channel<readonly T[]> {
  return { kind: "append", initial };
}

/** An object; a write is entries, new or in place of old ones. */
export function merge<T>(initial: { readonly [key: string]: T } = {}): Channel<{ readonly [key: string]: T }> {
  return { kind: "merge", initial };
}

/** Any value, and a function that says what it is after a write. The function gives a new value each time. */
export function custom<Value, Write = Value>(
  initial: Value,
  reduce: (value: Value, write: Write) => Value,
): Channel<Value, Write> {
  return { kind: "custom", initial, reduce };
}
