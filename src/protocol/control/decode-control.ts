/**
 * From the text of a control frame to the frame, or to the reason why not. It never throws on input; fields it does not
 * know are left in place and mean nothing.
 */
import type { Fault } from "../fault.ts";
import { isJsonObject } from "../json.ts";

/** Told apart in `hello`; raised when a client of an older one would be wrong. */
export const CONTROL_VERSION = 1;

export interface InvalidControl {
  readonly ok: false;
  readonly code: "invalid_control";
  readonly message: string;
  /** Its type is none this version knows: a newer peer's, perhaps. */
  readonly isUnknown?: true;
  /** What could still be read of it, so that the refusal finds who asked. */
  readonly id?: string;
  readonly session?: string;
}

export type DecodedControl<Frame> = { readonly ok: true; readonly frame: Frame } | InvalidControl;

/** `findFault` tells undefined for a type it does not know, too: `isKnown` says which it is. */
export interface ControlVocabulary {
  isKnown(type: string): boolean;
  findFault(value: object): Fault | undefined;
}

export function decodeControl<Frame>(text: string, vocabulary: ControlVocabulary): DecodedControl<Frame> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return invalid("a control frame is one JSON object; this is no JSON");
  }
  return readControl(value, vocabulary);
}

/** The same for a value that was parsed before. */
export function readControl<Frame>(value: unknown, vocabulary: ControlVocabulary): DecodedControl<Frame> {
  if (!isJsonObject(value)) return invalid("a control frame is one JSON object");
  const { type } = value;
  if (typeof type !== "string") return invalid("`type` is missing; it must be a string", value);
  if (!vocabulary.isKnown(type)) {
    const unknown = invalid(`there is no control frame ${JSON.stringify(type.slice(0, 40))} here`, value);
    return { ...unknown, isUnknown: true };
  }
  const fault = vocabulary.findFault(value);
  if (fault !== undefined) return invalid(`${type}: ${fault.message}`, value);
  return { ok: true, frame: dropNulls(value) as Frame };
}

/** An optional field that is null is not given. */
function dropNulls(value: { readonly [field: string]: unknown }): object {
  const entries = Object.entries(value);
  const given = entries.filter(([, field]) => field !== null);
  return given.length === entries.length ? value : Object.fromEntries(given);
}

function invalid(message: string, { id, session }: { readonly [field: string]: unknown } = {}): InvalidControl {
  return {
    ok: false,
    code: "invalid_control",
    message,
    ...(typeof id === "string" ? { id } : {}),
    ...(typeof session === "string" ? { session } : {}),
  };
}
