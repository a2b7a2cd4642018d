/**
 * Reads the `loom` wire (000/001): flat frames, with or without an envelope, strict or extended.
 * It parts envelope from event, and says which run a frame belongs to when the frame itself does not.
 */
import {
  type AnyEvent,
  BoundedMap,
  type Envelope,
  EVENTS,
  type EventRecord,
  type Fault,
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
      const { record, issues } = split;
      return { records: [attribute(record, turns)], issues };
    },
  };
}

type Split = { readonly record: EventRecord; readonly issues: readonly Issue[] } | { readonly issue: Issue };

/** Parts a frame into envelope and event, and checks both. */
export function splitFrame(frame: JsonObject): Split {
  const kind = kindOf(frame);
  if (kind === undefined) {
    const seen = frame["type"] === undefined ? "neither `type` nor `reply`" : "a `type` that is not a string";
    return { issue: issueOfKind(`the frame has ${seen}`) };
  }
  const envelopeFault = findEnvelopeFault(frame);
  if (envelopeFault !== undefined) return { issue: issueOfFault(envelopeFault, "001 §2") };
  const {
    session_id,
    run_id,
    node_id,
    event_id,
    ts,
    prev_event_id,
    ext,
    span_node_id,
    type: _type,
    reply: _reply,
    ...rest
  } = frame;
  const envelope: { -readonly [K in keyof Envelope]: Envelope[K] } = {};
  if (session_id != null) envelope.session_id = session_id as string;
  if (run_id != null) envelope.run_id = run_id as string;
  if (node_id != null) envelope.node_id = node_id as string;
  if (event_id != null) envelope.event_id = event_id as number;
  if (ts != null) envelope.ts = ts as number;
  if (prev_event_id != null) envelope.prev_event_id = prev_event_id as number;
  if (ext != null) envelope.ext = ext as JsonObject;
  let event: JsonObject;
  if (kind === "reply") {
    event = { type: "reply", reply: frame["reply"] as string, ...rest };
  } else {
    event = { type: kind, ...rest };
    if (frame["reply"] !== undefined) event = { ...event, reply: frame["reply"] };
    if (kind === "run_start" && run_id !== undefined) event = { ...event, run_id };
    if (kind === "got_expand") {
      if (node_id !== undefined) event = { ...event, node_id };
      if (typeof span_node_id === "string") envelope.node_id = span_node_id;
      else delete envelope.node_id;
    } else if (span_node_id !== undefined) event = { ...event, span_node_id };
  }
  return checkEvent(envelope, event as AnyEvent);
}

function checkEvent(envelope: Envelope, given: AnyEvent): Split {
  let event = given;
  if (event.type === "custom") event = unwrapValue((event as { readonly value?: unknown }).value) ?? event;
  const hints: Hint[] = [];
  const fault: Fault | undefined = findLoomEventFault(event, hints);
  const section = sectionOf(event.type);
  if (fault !== undefined) return { issue: issueOfFault(fault, section) };
  const record = { envelope, event: dropNulls(event) };
  return { record, issues: hints.length === 0 ? NO_ISSUES : hints.map((hint) => issueOfHint(hint, section)) };
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
