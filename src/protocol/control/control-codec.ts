/**
 * Encodes and decodes control frames. Decoding returns the frame, or the reason why it is invalid; it never throws on
 * input. Unknown fields are kept and have no effect.
 */
import type { Fault } from "../fault.ts";
import { isJsonObject, keepFields, parseJson } from "../json.ts";
import { type DownFrame, findDownFrameFault, findDownFrameForm } from "./down.generated.ts";
import { findUpFrameFault, findUpFrameForm, type UpFrame } from "./up.generated.ts";

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

/** A command for a session. Commands are idempotent: sending one again with the same ID has no further effect. */
export type ControlCommand = Extract<UpFrame, { readonly type: (typeof COMMANDS)[number] }>;

const COMMANDS = ["run", "cancel", "approve", "tool_result", "permission", "feedback", "todo"] as const;

/** `findFault` also returns undefined for an unknown type, so look for the form first. */
interface ControlVocabulary {
  findForm(type: string): object | undefined;
  findFault(value: object): Fault | undefined;
}

const UP: ControlVocabulary = { findForm: findUpFrameForm, findFault: findUpFrameFault };
const DOWN: ControlVocabulary = { findForm: findDownFrameForm, findFault: findDownFrameFault };

/** Encodes a control frame as the text of one socket message. */
export function encodeControl(frame: UpFrame | DownFrame): string {
  return JSON.stringify(frame);
}

/** Decodes a control frame from the client. */
export function decodeUp(text: string): DecodedControl<UpFrame> {
  return decodeControl(text, UP);
}

/** Like `decodeUp`, for a value that is already parsed. */
export function readUp(value: unknown): DecodedControl<UpFrame> {
  return readControl(value, UP);
}

/** True for frames that are commands for a session. */
export function isCommand(frame: UpFrame): frame is ControlCommand {
  return (COMMANDS as readonly string[]).includes(frame.type);
}

/** Decodes a control frame from the server. */
export function decodeDown(text: string): DecodedControl<DownFrame> {
  return decodeControl(text, DOWN);
}

function decodeControl<Frame>(text: string, vocabulary: ControlVocabulary): DecodedControl<Frame> {
  const value = parseJson(text);
  if (value === undefined) return invalid("A control frame must be a JSON object; this is not valid JSON");
  return readControl(value, vocabulary);
}

function readControl<Frame>(value: unknown, vocabulary: ControlVocabulary): DecodedControl<Frame> {
  if (!isJsonObject(value)) return invalid("A control frame must be a JSON object");
  const { type } = value;
  if (typeof type !== "string") return invalid("`type` is missing; it must be a string", value);
  if (vocabulary.findForm(type) === undefined) {
    const unknown = invalid(`Unknown control frame type ${JSON.stringify(type.slice(0, 40))}`, value);
    return { ...unknown, isUnknown: true };
  }
  const fault = vocabulary.findFault(value);
  if (fault !== undefined) return invalid(`\`${type}\`: ${fault.message}`, value);
  // null in an optional field means "not given".
  const hasNull = Object.values(value).includes(null);
  const frame = hasNull ? keepFields(value, (_name, field) => field !== null) : value;
  return { ok: true, frame: frame as Frame };
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
