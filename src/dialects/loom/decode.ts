/**
 * Reads the `loom` wire (000/001): flat frames, with or without an envelope, strict or extended.
 * It parts envelope from event, and says which run a frame belongs to when the frame itself does not.
 */
import {
  type AnyEvent,
  BoundedMap,
  buildLoomEvent,
  type Envelope,
  EVENTS,
  type EventRecord,
  findEnvelopeFault,
  findLoomEventFault,
  type Hint,
  isKnownType,
  type Issue,
  isTerminal,
  type JsonObject,
  unwrapValue,
} from "../../protocol/index.ts";
import type { Decoder } from "../dialect.ts";
import { issueOfFault, issueOfHint, issueOfKind, parseFrame } from "../parse-frame.ts";

const MAX_SESSIONS = 10_000;
const NO_ISSUES: readonly Issue[] = [];

/** The run a session is in, for frames that do not name theirs. */
interface Turn {
  runId: string | undefined;
  /** A frame after run_start named its run: from then on a frame that names none belongs to none. */
  explicit: boolean;
}

export function createLoomDecoder(): Decoder {
  const turns = new BoundedMap<Turn>(MAX_SESSIONS);
  return {
    decode(text) {
      const parsed = parseFrame(text);
      if (!parsed.ok) return { records: [], issues: [parsed.issue] };
      const split = splitFrame(parsed.frame);
      if ("issue" in split) return { records: [], issues: [split.issue] };
      return { records: [attribute(split.record, turns)], issues: split.issues };
    },
  };
}

type Split = { readonly record: EventRecord; readonly issues: readonly Issue[] } | { readonly issue: Issue };
type MutableEnvelope = { -readonly [K in keyof Envelope]: Envelope[K] };

/** Parts a frame into envelope and event, and checks both. */
function splitFrame(frame: JsonObject): Split {
  const kind = kindOf(frame);
  if (kind === undefined) {
    const seen = frame["type"] === undefined ? "neither `type` nor `reply`" : "a `type` that is not a string";
    return { issue: issueOfKind(`the frame has ${seen}`) };
  }
  const envelope: MutableEnvelope = {};
  const taken = takeEnvelope(frame, envelope);
  if (taken < 0) {
    const fault = findEnvelopeFault(frame);
    if (fault !== undefined) return { issue: issueOfFault(fault, "001 §2") };
  }
  if (kind === "reply" || kind === "run_start" || kind === "got_expand" || kind === "custom") {
    return splitShared(frame, kind, envelope);
  }
  const hints: Hint[] = [];
  const fault = findLoomEventFault(frame, hints);
  if (fault !== undefined) return { issue: issueOfFault(fault, sectionOf(kind)) };
  let fields = 0;
  for (const _ in frame) fields++;
  const event = buildLoomEvent(frame, fields - taken - 1) ?? dropNulls(withoutEnvelope(frame));
  if (hints.length === 0) return { record: { envelope, event }, issues: NO_ISSUES };
  return { record: { envelope, event }, issues: hints.map((hint) => issueOfHint(hint, sectionOf(kind))) };
}

/**
 * Puts the frame's envelope into `envelope`, and says how many of its fields that were; a negative number when a field
 * is not what it should be, and `findEnvelopeFault` has the last word.
 */
function takeEnvelope(frame: JsonObject, envelope: MutableEnvelope): number {
  const { session_id, run_id, node_id, event_id, ts } = frame;
  let taken = 0;
  if (typeof session_id === "string") {
    envelope.session_id = session_id;
    taken++;
  } else if (session_id != null) return Number.NEGATIVE_INFINITY;
  if (typeof run_id === "string") {
    envelope.run_id = run_id;
    taken++;
  } else if (run_id != null) return Number.NEGATIVE_INFINITY;
  if (typeof node_id === "string") {
    envelope.node_id = node_id;
    taken++;
  } else if (node_id != null) return Number.NEGATIVE_INFINITY;
  if (typeof event_id === "number" && event_id >= 0 && Number.isSafeInteger(event_id)) {
    envelope.event_id = event_id;
    taken++;
  } else if (event_id != null) return Number.NEGATIVE_INFINITY;
  if (typeof ts === "number") {
    envelope.ts = ts;
    taken++;
  } else if (ts != null) return Number.NEGATIVE_INFINITY;
  const { prev_event_id, ext } = frame;
  if (prev_event_id == null && ext == null) return taken;
  if (prev_event_id != null) envelope.prev_event_id = prev_event_id as number;
  if (ext != null) envelope.ext = ext as JsonObject;
  return findEnvelopeFault(frame) === undefined ? taken + (prev_event_id == null ? 0 : 1) + (ext == null ? 0 : 1) : -1;
}

function withoutEnvelope(frame: JsonObject): AnyEvent {
  const { session_id, run_id, node_id, event_id, ts, prev_event_id, ext, ...event } = frame;
  return event as AnyEvent;
}

/** The kinds that share a field with the envelope, travel without a type, or may hold another event. */
function splitShared(frame: JsonObject, kind: string, envelope: MutableEnvelope): Split {
  const { type: _given, ...own } = withoutEnvelope(frame) as JsonObject;
  let event = { type: kind, ...own } as AnyEvent;
  if (kind === "run_start" && frame["run_id"] !== undefined) {
    const { type: _type, ...payload } = event as JsonObject;
    event = { type: kind, run_id: frame["run_id"], ...payload } as AnyEvent;
  }
  if (kind === "got_expand") {
    const { type: _type, span_node_id, ...payload } = event as JsonObject;
    event = { type: kind, node_id: frame["node_id"], ...payload } as AnyEvent;
    if (typeof span_node_id === "string") envelope.node_id = span_node_id;
    else delete envelope.node_id;
  }
  if (kind === "custom") event = unwrapValue(frame["value"]) ?? event;
  return checkEvent(envelope, event);
}

function checkEvent(envelope: Envelope, event: AnyEvent): Split {
  const hints: Hint[] = [];
  const fault = findLoomEventFault(event, hints);
  const section = sectionOf(event.type);
  if (fault !== undefined) return { issue: issueOfFault(fault, section) };
  return { record: { envelope, event: dropNulls(event) }, issues: hints.map((hint) => issueOfHint(hint, section)) };
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

function attribute(record: EventRecord, turns: BoundedMap<Turn>): EventRecord {
  const { envelope, event } = record;
  const session = envelope.session_id ?? "";
  if (event.type === "run_start") {
    turns.set(session, { runId: envelope.run_id, explicit: false });
    return record;
  }
  const turn = turns.get(session);
  if (turn === undefined) return record;
  let owned = record;
  if (envelope.run_id !== undefined) turn.explicit = true;
  else if (!turn.explicit && turn.runId !== undefined) owned = { envelope: { ...envelope, run_id: turn.runId }, event };
  if (isTerminal(event) && owned.envelope.run_id === turn.runId) turns.delete(session);
  return owned;
}
