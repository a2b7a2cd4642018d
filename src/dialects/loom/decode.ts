/**
 * Reads the `loom` wire (000/001): flat frames, with or without an envelope, strict or extended.
 * It parts envelope from event, and says which run a frame belongs to when the frame itself does not.
 */
import {
  type AnyEvent,
  type CustomEvent,
  ENVELOPE,
  type EventRecord,
  EVENTS,
  findEnvelopeFault,
  findLoomEventCode,
  findLoomEventFault,
  type Hint,
  holdsMark,
  isJsonObject,
  type Json,
  isKnownType,
  type Issue,
  type JsonObject,
  type LoomEventCode,
  unwrapValue,
} from "../../protocol/index.ts";
import type { Decoded, Decoder } from "../dialect.ts";
import { issueOfFault, issueOfHint, issueOfKind, parseFrame } from "../parse-frame.ts";
import { type MutableEnvelope, Turns } from "./turns.ts";

const NO_ISSUES: readonly Issue[] = [];

export function createLoomDecoder(): Decoder {
  const turns = new Turns();
  const codes = new LastCode();
  return {
    decode(text): Decoded {
      let frame: unknown;
      try {
        frame = JSON.parse(text);
      } catch {
        // Said in words below.
      }
      if (!isJsonObject(frame)) {
        const parsed = parseFrame(text);
        return parsed.ok ? readFrame(parsed.frame, turns) : refuse(parsed.issue);
      }
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
    return refuse(issueOfKind(`the frame has ${seen}`));
  }
  const envelopeFault = findEnvelopeFault(frame);
  if (envelopeFault !== undefined) return refuse(issueOfFault(envelopeFault, "001 §2"));
  const envelope = takeEnvelope(frame);
  const given = liftEvent(frame, kind, envelope);
  const hints: Hint[] = [];
  const fault = findLoomEventFault(given, hints);
  const section = sectionOf(given.type);
  if (fault !== undefined) return refuse(issueOfFault(fault, section));
  const event = dropNulls(given);
  turns?.attribute(envelope, event);
  return { records: [{ envelope, event }], issues: hints.map((hint) => issueOfHint(hint, section)) };
}

function refuse(issue: Issue): Decoded {
  return { records: [], issues: [issue] };
}

function takeEnvelope({ session_id, run_id, node_id, event_id, ts, prev_event_id, ext }: JsonObject): MutableEnvelope {
  const envelope: MutableEnvelope = {};
  if (session_id != null) envelope.session_id = session_id as string;
  if (run_id != null) envelope.run_id = run_id as string;
  if (node_id != null) envelope.node_id = node_id as string;
  if (event_id != null) envelope.event_id = event_id as number;
  if (ts != null) envelope.ts = ts as number;
  if (prev_event_id != null) envelope.prev_event_id = prev_event_id as number;
  if (ext != null) envelope.ext = ext as JsonObject;
  return envelope;
}

function withoutEnvelope(frame: JsonObject): JsonObject {
  const own: [string, Json][] = [];
  for (const name in frame)
    if (name !== "type" && !Object.hasOwn(ENVELOPE.fields, name)) own.push([name, frame[name] as Json]);
  return Object.fromEntries(own);
}

/** The event without its envelope; the special kinds are made what they stand for. */
function liftEvent(frame: JsonObject, kind: string, envelope: MutableEnvelope): AnyEvent {
  const own = withoutEnvelope(frame);
  if (kind === "custom") return unwrapValue(frame["value"]) ?? { type: kind, ...own };
  if (kind === "run_start" && frame["run_id"] !== undefined) return { type: kind, run_id: frame["run_id"], ...own };
  if (kind !== "got_expand") return { type: kind, ...own };
  const { span_node_id, ...payload } = own;
  delete envelope.node_id;
  const event = { type: kind, node_id: frame["node_id"] };
  if (span_node_id === null) return { ...event, ...payload } as AnyEvent;
  if (typeof span_node_id !== "string") return { ...event, ...own } as AnyEvent;
  envelope.node_id = span_node_id;
  return { ...event, ...payload } as AnyEvent;
}

function kindOf(frame: JsonObject): string | undefined {
  const { type, reply } = frame;
  if (typeof type === "string") return typeof reply === "string" && type === "run_end" ? "reply" : type;
  return type == null && reply !== undefined ? "reply" : undefined;
}

export function sectionOf(type: string): string {
  return isKnownType(type) ? EVENTS[type].section : "001 §8";
}

/** A null in an optional field means that it is absent. */
export function dropNulls(event: AnyEvent): AnyEvent {
  if (!isKnownType(event.type)) return event;
  const fields: { readonly [name: string]: { readonly required: boolean } } = EVENTS[event.type].fields;
  const values = event as JsonObject;
  let clean: { [field: string]: unknown } | undefined;
  for (const name in fields) {
    if (values[name] !== null || fields[name]?.required === true) continue;
    clean ??= { ...event };
    delete clean[name];
  }
  return (clean as AnyEvent | undefined) ?? event;
}
