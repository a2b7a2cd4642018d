/**
 * What becomes of an event in a dialect: carried, carried as something else, or left out with the reason.
 * The rows also encode, so that the ledger cannot say one thing and the encoder do another; a table must have a row for
 * every event type, and the documentation is generated from it.
 */
import type { EventOf, EventType, LoomEvent, StampedRecord } from "../protocol/index.ts";

export type Fate =
  | {
      readonly fate: "carried" | "as";
      /** The frame that carries it. */
      readonly as: string;
      readonly note?: string;
      /** Fields that do not arrive. */
      readonly loses: readonly string[];
      /** What a decoder of the same dialect gives back for it; undefined when nothing does. */
      readonly back: (event: LoomEvent) => LoomEvent | undefined;
    }
  | { readonly fate: "omitted"; readonly reason: string };

/** Encodes one event within the fold of its run. `Out` is a frame: its text, or the object that becomes one. */
export type Step<Fold, T extends EventType, Out = string> = (
  fold: Fold,
  event: EventOf<T>,
  record: StampedRecord,
) => readonly Out[];

export type Row<Fold, T extends EventType, Out = string> = Fate & { readonly encode?: Step<Fold, T, Out> };

/** One row per event type: leaving one out does not compile, and the error names it. */
export type Table<Fold, Out = string> = { readonly [T in EventType]: Row<Fold, T, Out> };

interface CarryOptions<T extends EventType> {
  readonly note?: string;
  readonly loses?: readonly string[];
  readonly back?: (event: EventOf<T>) => LoomEvent | undefined;
}

export function carried<Fold, T extends EventType, Out = string>(
  as: string,
  encode: Step<Fold, T, Out>,
  options: CarryOptions<T> = {},
): Row<Fold, T, Out> {
  return { fate: "carried", as, encode, ...describe(options) };
}

export function carriedAs<Fold, T extends EventType>(
  as: string,
  encode: Step<Fold, T>,
  options: CarryOptions<T> = {},
): Row<Fold, T> {
  return { fate: "as", as, encode, ...describe(options) };
}

/** `observe` lets the fold learn from an event that gives no frame. */
export function omitted<Fold, T extends EventType, Out = string>(
  reason: string,
  observe?: (fold: Fold, event: EventOf<T>) => void,
): Row<Fold, T, Out> {
  if (observe === undefined) return { fate: "omitted", reason };
  return {
    fate: "omitted",
    reason,
    encode: (fold, event) => {
      observe(fold, event);
      return [];
    },
  };
}

function describe<T extends EventType>({ note, loses = [], back }: CarryOptions<T>) {
  return {
    ...(note === undefined ? {} : { note }),
    loses,
    back:
      (back as ((event: LoomEvent) => LoomEvent | undefined) | undefined) ??
      ((event: LoomEvent) => without(event, loses)),
  };
}

/** The event less some of its fields. */
function without(event: LoomEvent, fields: readonly string[]): LoomEvent {
  if (fields.length === 0) return event;
  return Object.fromEntries(Object.entries(event).filter(([name]) => !fields.includes(name))) as unknown as LoomEvent;
}
