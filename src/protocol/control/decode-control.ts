/**
 * Decodes control frames. Returns the frame, or the reason why it is invalid; never throws on input. Unknown fields are
 * kept and have no effect.
 */
import type { Fault } from "../fault.ts";
import { isJsonObject } from "../json.ts";

/** Version of the control protocol, sent in `hello`. Increased by changes that break older clients. */
export const CONTROL_VERSION = 1;

/** A control frame that could not be decoded. */
export interface InvalidControl {
  readonly ok: false;
  readonly code: "invalid_control";
  readonly message: string;
  /** True if this version does not know the frame's type; the peer may be newer. */
  readonly isUnknown?: true;
  /** ID and session of the invalid frame, if they could be read, so that the refusal can be matched to its request. */
  readonly id?: string;
  readonly session?: string;
}

/** The decoded frame, or why it is invalid. */
export type DecodedControl<Frame> = { readonly ok: true; readonly frame: Frame } | InvalidControl;

/** `findFault` also returns undefined for an unknown type, so check `isKnown` first. */
export interface ControlVocabulary {
  isKnown(type: string): boolean;
  findFault(value: object): Fault | undefined;
}

export function decodeControl<Frame>(text: string, vocabulary: ControlVocabulary): DecodedControl<Frame> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return invalid("A control frame must be a JSON object; this is not valid JSON");
  }
  return readControl(value, vocabulary);
}

/** Like `decodeControl`, for a value that is already parsed. */
export function readControl<Frame>(value: unknown, vocabulary: ControlVocabulary): DecodedControl<Frame> {
  if (!isJsonObject(value)) return invalid("A control frame must be a JSON object");
  const { type } = value;
  if (typeof type !== "string") return invalid("`type` is missing; it must be a string", value);
  if (!vocabulary.isKnown(type)) {
    const unknown = invalid(`Unknown control frame type ${JSON.stringify(type.slice(0, 40))}`, value);
    return { ...unknown, isUnknown: true };
  }
  const fault = vocabulary.findFault(value);
  if (fault !== undefined) return invalid(`\`${type}\`: ${fault.message}`, value);
  return { ok: true, frame: dropNulls(value) as Frame };
}

/** null in an optional field means "not given". */
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
