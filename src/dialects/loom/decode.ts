/**
 * Reads the `loom` wire (000/001): flat frames, with or without an envelope, strict or extended.
 * It parts envelope from event, and says which run a frame belongs to when the frame itself does not.
 */
import { findLoomEventCode, type LoomEventCode } from "../../protocol/event-code.ts";
import {
  type CustomEvent,
  ENVELOPE_FORM,
  findEnvelopeFault,
  findLoomEventFault,
  findLoomEventForm,
} from "../../protocol/events.generated.ts";
import type { Hint } from "../../protocol/fault.ts";
import type { Envelope } from "../../protocol/index.ts";
import { isJsonObject, type Json, type JsonObject, keepFields } from "../../protocol/json.ts";
import { type AnyEvent, type EventRecord, isKnownType } from "../../protocol/record.ts";
import type { Issue } from "../../protocol/rules.ts";
import { holdsMark, unwrapValue } from "../../protocol/strict.ts";
import type { Decoded, Decoder, Decoding } from "../dialect.ts";
import { createFrameDecoder, raiseHints, refuse } from "../frame-decoder.ts";
import { type MutableEnvelope, Turns } from "./turns.ts";

const NO_ISSUES: readonly Issue[] = [];

export const LOOM_DECODING: Decoding = {
  createDecoder: createLoomDecoder,
  claim(frame) {
    const { type, reply, event_id, node_id } = frame;
    // These two names of the envelope stand in no other dialect.
    if (typeof type === "string" && (event_id !== undefined || typeof node_id === "string")) return 2;
    if (typeof type === "string" && isKnownType(type) && type !== "reply")
      return findLoomEventFault(frame) === undefined ? 2 : 1;
    return typeof reply === "string" ? 2 : 0;
  },
};

function createLoomDecoder(): Decoder {
  const turns = new Turns();
  const codes = new LastCode();
  const slow = createFrameDecoder((frame) => readFrame(frame, turns));
  return {
    decode(text, given) {
      let frame: unknown = given;
      if (given === undefined) {
        try {
          frame = JSON.parse(text);
        } catch {
          // Said in words on the long way.
        }
      }
      if (!isJsonObject(frame)) return slow.decode(text);
      return readQuickly(frame, codes, turns) ?? readFrame(frame, turns);
    },
  };
}

/**
 * Reads back the frames `createLoomEncoder` wrote in the extended form, from their text or parsed. Such a frame says
 * itself which run it belongs to, so what is read depends on no other frame: a log may begin to read anywhere.
 */
export function createRecordReader(): (frame: unknown) => EventRecord | undefined {
  const codes = new LastCode();
  return (given) => {
    let frame = given;
    if (typeof given === "string") {
      try {
        frame = JSON.parse(given);
      } catch {
        return undefined;
      }
    }
    if (!isJsonObject(frame)) return undefined;
    return (readQuickly(frame, codes) ?? readFrame(frame)).records[0];
  };
}

/** Frames of one type come in long rows, and finding a type among many costs more than comparing it with the last. */
class LastCode {
  #type = "";
  #code: LoomEventCode | undefined;

  get(type: string): LoomEventCode | undefined {
    if (type === this.#type) return this.#code;
    this.#type = type;
    // The `node_id` of a got_expand frame is not the envelope's: the long way sorts that out.
    this.#code = type === "got_expand" ? undefined : findLoomEventCode(type);
    return this.#code;
  }
}

/**
 * The short way, for what our own sender writes: all of the envelope, an event with declared fields, nothing else. It
 * gives up, having done nothing, at whatever is out of the ordinary; the long way has the last word on it.
 */
function readQuickly(frame: JsonObject, codes: LastCode, turns?: Turns): Decoded | undefined {
  const { type, session_id, run_id, node_id, event_id, ts } = frame;
  if (typeof session_id !== "string" || typeof run_id !== "string" || typeof ts !== "number" || !Number.isFinite(ts))
    return undefined;
  if (typeof event_id !== "number" || event_id < 0 || !Number.isSafeInteger(event_id)) return undefined;
  const inSpan = typeof node_id === "string";
  if (!inSpan && node_id !== undefined) return undefined;
  const kind = typeof type === "string" ? type : type === undefined ? "reply" : undefined;
  const code = kind === undefined ? undefined : codes.get(kind);
  if (code === undefined) return undefined;
  // What is left of the frame's fields without those of the envelope and the type; run_start has its run_id twice.
  let fields = (inSpan ? -5 : -4) - (type === undefined ? 0 : 1) + (kind === "run_start" ? 1 : 0);
  for (const _ in frame) fields++;
  const event = code.read(frame, fields) as AnyEvent | undefined;
  if (event === undefined || (kind === "custom" && holdsMark((event as CustomEvent).value))) return undefined;
  // An object made whole is much cheaper than one that grows.
  const envelope = inSpan ? { session_id, run_id, node_id, event_id, ts } : { session_id, run_id, event_id, ts };
  turns?.attribute(envelope, event);
  return { records: [{ envelope, event }], issues: NO_ISSUES };
}

/** Parts a frame into envelope and event, checks both, and says which run it belongs to. */
function readFrame(frame: JsonObject, turns?: Turns): Decoded {
  const kind = kindOf(frame);
  if (kind === undefined) {
    const seen = frame["type"] === undefined ? "neither `type` nor `reply`" : "a `type` that is not a string";
    return refuse("frame-kind", `the frame has ${seen}`);
  }
  const envelopeFault = findEnvelopeFault(frame);
  if (envelopeFault !== undefined) return refuse(envelopeFault.rule, envelopeFault.message, "001 §2");
  const envelope: MutableEnvelope = {};
  for (const name of ENVELOPE_FORM.fields.keys())
    if (frame[name] != null) (envelope as { [name: string]: Json })[name] = frame[name];
  const decoded = decodeEvent(liftEvent(frame, kind, envelope), envelope);
  for (const { event } of decoded.records) turns?.attribute(envelope, event);
  return decoded;
}

/** Checks an event that was parted from its frame; `names` says how its fields are called there, where not the same. */
export function decodeEvent(
  given: AnyEvent,
  envelope: Envelope,
  names: { readonly [field: string]: string } = {},
): Decoded {
  const hints: Hint[] = [];
  const fault = findLoomEventFault(given, hints);
  const section = findLoomEventForm(given.type)?.section ?? "001 §8";
  if (fault !== undefined) {
    const { rule, path, message } = fault;
    return refuse(rule, message.replace(path, names[path] ?? path), section);
  }
  return {
    records: [{ envelope, event: dropNulls(given) }],
    issues: raiseHints(hints, section),
  };
}

/** The event without its envelope; the special kinds are made what they stand for. */
function liftEvent(frame: JsonObject, kind: string, envelope: MutableEnvelope): AnyEvent {
  const own = keepFields(frame, (name) => name !== "type" && !ENVELOPE_FORM.fields.has(name));
  if (kind === "custom") return unwrapValue(frame["value"]) ?? { type: kind, ...own };
  if (kind === "run_start" && frame["run_id"] !== undefined) return { type: kind, run_id: frame["run_id"], ...own };
  if (kind !== "got_expand") return { type: kind, ...own };
  const { span_node_id, ...payload } = own;
  delete envelope.node_id;
  const named = typeof span_node_id === "string";
  if (named) envelope.node_id = span_node_id;
  return { type: kind, node_id: frame["node_id"], ...(named || span_node_id === null ? payload : own) } as AnyEvent;
}

function kindOf(frame: JsonObject): string | undefined {
  const { type, reply } = frame;
  if (typeof type === "string") return typeof reply === "string" && type === "run_end" ? "reply" : type;
  return type == null && reply !== undefined ? "reply" : undefined;
}

/** A null in an optional field means that it is absent. */
export function dropNulls(event: AnyEvent): AnyEvent {
  if (!Object.values(event).includes(null)) return event;
  const fields = findLoomEventForm(event.type)?.fields;
  const isKept = (name: string, value: Json) => value !== null || fields?.get(name)?.required !== false;
  return keepFields(event as JsonObject, isKept) as AnyEvent;
}
