/**
 * The ledger of a dialect: how it represents each event type. An event is carried, converted to another kind of frame,
 * or omitted for a reason. The rows also do the encoding, so ledger and encoder cannot disagree. The documentation is
 * generated from the ledger.
 */
import { dropUndefined } from "../protocol/drop-undefined.ts";
import { findLoomEventForm } from "../protocol/events.generated.ts";
import type { EventOf, EventType, JsonObject, LoomEvent, StampedRecord } from "../protocol/index.ts";
import { isJsonObject } from "../protocol/json.ts";

/** How a dialect represents an event type. */
export type LedgerEntry =
  | {
      readonly support: "carried" | "converted";
      /** Name of the frame that carries the event. */
      readonly frame: string;
      readonly note?: string;
      /** Fields that are not transmitted. */
      readonly lostFields: readonly string[];
      /** True for an event of which nothing is read back. Default: none. */
      readonly isLost?: (event: LoomEvent) => boolean;
    }
  | { readonly support: "omitted"; readonly reason: string };

/** Encodes one event, using the fold of its run. `Out` is a frame as a string or as an object. */
export type EventEncoder<Fold, T extends EventType, Out = string> = (
  fold: Fold,
  event: EventOf<T>,
  record: StampedRecord,
) => readonly Out[];

/** A ledger entry with the function that encodes the event. */
export type LedgerRow<Fold, T extends EventType, Out = string> = LedgerEntry & {
  readonly encode?: EventEncoder<Fold, T, Out>;
};

/** One row per event type. A missing row is a compile error that names the type. */
export type LedgerTable<Fold, Out = string> = { readonly [T in EventType]: LedgerRow<Fold, T, Out> };

interface CarryOptions<T extends EventType> {
  readonly note?: string | undefined;
  readonly lostFields?: readonly string[];
  readonly isLost?: (event: EventOf<T>) => boolean;
}

/** Options of a row for an event that is never read back. */
export function notReadBack(note: string) {
  return { note: `${note}. It is not read back`, isLost: () => true };
}

/** The dialect has a frame for the event. */
export function carried<Fold, T extends EventType, Out = string>(
  frame: string,
  encode: EventEncoder<Fold, T, Out>,
  options: CarryOptions<T> = {},
): LedgerRow<Fold, T, Out> {
  return { support: "carried", frame, encode, ...describe(options) };
}

/** The event is sent as a frame of another kind. */
export function converted<Fold, T extends EventType, Out = string>(
  frame: string,
  encode: EventEncoder<Fold, T, Out>,
  options: CarryOptions<T> = {},
): LedgerRow<Fold, T, Out> {
  return { support: "converted", frame, encode, ...describe(options) };
}

/** A row for frames without an event: those that came from this dialect are sent again. */
export function ownFrames<Fold, Out = string>(
  dialect: string,
  write: (fold: Fold, frame: JsonObject, record: StampedRecord) => readonly Out[],
): LedgerRow<Fold, "foreign", Out> {
  return converted(
    "original frame",
    (fold, event, record) =>
      event.dialect === dialect && isJsonObject(event.frame) ? write(fold, event.frame, record) : [],
    { note: "only frames that came from this dialect", isLost: (event) => event.dialect !== dialect },
  );
}

/** `observe` updates the fold for an event that produces no frame. */
export function omitted<Fold, T extends EventType, Out = string>(
  reason: string,
  observe?: (fold: Fold, event: EventOf<T>, record: StampedRecord) => void,
): LedgerRow<Fold, T, Out> {
  if (observe === undefined) return { support: "omitted", reason };
  return {
    support: "omitted",
    reason,
    encode: (fold, event, record) => {
      observe(fold, event, record);
      return [];
    },
  };
}

/** The same row for several event types. A type without a row still does not compile. */
export function sameRow<Fold, const T extends EventType, Out = string>(
  types: readonly T[],
  row: LedgerRow<Fold, NoInfer<T>, Out>,
): { readonly [K in T]: LedgerRow<Fold, T, Out> } {
  return Object.fromEntries(types.map((type) => [type, row])) as { readonly [K in T]: typeof row };
}

function describe<T extends EventType>({ note, lostFields = [], isLost }: CarryOptions<T>) {
  return dropUndefined({ note, lostFields, isLost: isLost as ((event: LoomEvent) => boolean) | undefined });
}

/** Returns the fields of an event that a dialect does not send: all but `sent`. */
export function listLost<T extends EventType>(type: T, ...sent: readonly (keyof EventOf<T>)[]): readonly string[] {
  const names = findLoomEventForm(type)?.fields.keys() ?? [];
  return [...names].filter((name) => !(sent as readonly PropertyKey[]).includes(name));
}
