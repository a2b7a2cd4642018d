/**
 * Reads the `loom` wire (000/001): flat frames, with or without an envelope, strict or extended.
 * It parts envelope from event, and says which run a frame belongs to when the frame itself does not.
 */
import {
  type AnyEvent,
  BoundedMap,
  buildLoomEvent,
  ENVELOPE,
  type Envelope,
  type Fault,
  EVENTS,
  findEnvelopeFault,
  findLoomEventFault,
  type Hint,
  isJsonObject,
  isKnownType,
  type Issue,
  isTerminal,
  type JsonObject,
  unwrapValue,
} from "../../protocol/index.ts";
import type { Decoded, Decoder } from "../dialect.ts";
import { issueOfFault, issueOfHint, issueOfKind, parseFrame } from "../parse-frame.ts";

const MAX_SESSIONS = 10_000;
const NO_ISSUES: readonly Issue[] = [];

/** The run a session is in, for frames that do not name theirs. */
interface Turn {
  readonly runId: string | undefined;
  /** A frame after run_start named its run: from then on a frame that names none belongs to none. */
  explicit: boolean;
}

export function createLoomDecoder(): Decoder {
  const turns = new Turns();
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
        return { records: [], issues: parsed.ok ? [] : [parsed.issue] };
      }
      return readFrame(frame, turns);
    },
  };
}

/** The turns of the sessions in a stream; the one asked for last is at hand, since frames come in long rows of one session. */
class Turns {
  readonly #turns = new BoundedMap<Turn>(MAX_SESSIONS);
  #session: string | undefined;
  #turn: Turn | undefined;

  get(session: string): Turn | undefined {
    if (session === this.#session) return this.#turn;
    this.#session = session;
    this.#turn = this.#turns.get(session);
    return this.#turn;
  }

  set(session: string, turn: Turn | undefined): void {
    if (turn === undefined) this.#turns.delete(session);
    else this.#turns.set(session, turn);
    this.#session = session;
    this.#turn = turn;
  }
}

type MutableEnvelope = { -readonly [K in keyof Envelope]: Envelope[K] };

/** Filled by a validator and emptied at once: frames with hints are rare, and an array per frame is not free. */
const HINTS: Hint[] = [];

/** Parts a frame into envelope and event, checks both, and says which run it belongs to. */
function readFrame(frame: JsonObject, turns: Turns): Decoded {
  const kind = kindOf(frame);
  if (kind === undefined) {
    const seen = frame["type"] === undefined ? "neither `type` nor `reply`" : "a `type` that is not a string";
    return refuse(issueOfKind(`the frame has ${seen}`));
  }
  const envelope = takeEnvelope(frame);
  if (envelope === undefined) return refuse(issueOfFault(findEnvelopeFault(frame) as Fault, "001 §2"));
  const shared = kind === "reply" || kind === "run_start" || kind === "got_expand" || kind === "custom";
  const checked = shared ? liftEvent(frame, kind, envelope) : frame;
  const fault = findLoomEventFault(checked, HINTS);
  const issues = HINTS.length === 0 ? NO_ISSUES : takeHints(kind);
  if (fault !== undefined) return refuse(issueOfFault(fault, sectionOf((checked as AnyEvent).type)));
  const built = shared ? undefined : buildLoomEvent(frame, countFields(frame, envelope));
  const event = built ?? dropNulls(shared ? (checked as AnyEvent) : withoutEnvelope(frame));
  attribute(envelope, event, turns);
  return { records: [{ envelope, event }], issues };
}

function refuse(issue: Issue): Decoded {
  return { records: [], issues: [issue] };
}

function takeHints(kind: string): readonly Issue[] {
  return HINTS.splice(0).map((hint) => issueOfHint(hint, sectionOf(kind)));
}

/** The frame's envelope; undefined when there is a fault in it. */
function takeEnvelope(frame: JsonObject): MutableEnvelope | undefined {
  const { session_id, run_id, node_id, event_id, ts, prev_event_id, ext } = frame;
  const rare = prev_event_id !== undefined || ext !== undefined;
  if (
    !rare &&
    typeof session_id === "string" &&
    typeof run_id === "string" &&
    isEventId(event_id) &&
    isFiniteNumber(ts)
  ) {
    // What our own sender writes. An object made whole is much cheaper than one that grows.
    if (typeof node_id === "string") return { session_id, run_id, node_id, event_id, ts };
    if (node_id === undefined) return { session_id, run_id, event_id, ts };
  }
  if (findEnvelopeFault(frame) !== undefined) return undefined;
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

function isFiniteNumber(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value);
}

function isEventId(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && Number.isSafeInteger(value);
}

/** How many fields the event of a frame has beside its type. */
function countFields(frame: JsonObject, envelope: Envelope): number {
  let fields = -1;
  for (const _ in frame) fields++;
  for (const _ in envelope) fields--;
  return fields;
}

function withoutEnvelope(frame: JsonObject): AnyEvent {
  return Object.fromEntries(
    Object.entries(frame).filter(([name]) => !Object.hasOwn(ENVELOPE.fields, name)),
  ) as AnyEvent;
}

/** The event of a kind that shares a field with the envelope, travels without a type, or may hold another event. */
function liftEvent(frame: JsonObject, kind: string, envelope: MutableEnvelope): AnyEvent {
  const { type: _type, ...own } = withoutEnvelope(frame) as JsonObject;
  if (kind === "custom") return unwrapValue(frame["value"]) ?? { type: kind, ...own };
  if (kind === "run_start" && frame["run_id"] !== undefined) return { type: kind, run_id: frame["run_id"], ...own };
  if (kind !== "got_expand") return { type: kind, ...own };
  const { span_node_id, ...payload } = own;
  delete envelope.node_id;
  const event = { type: kind, node_id: frame["node_id"] };
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

/** Says which run a frame belongs to that does not say so itself. */
function attribute(envelope: MutableEnvelope, event: AnyEvent, turns: Turns): void {
  const session = envelope.session_id ?? "";
  if (event.type === "run_start") {
    turns.set(session, { runId: envelope.run_id, explicit: false });
    return;
  }
  const turn = turns.get(session);
  if (turn === undefined) return;
  if (envelope.run_id !== undefined) turn.explicit = true;
  else if (!turn.explicit && turn.runId !== undefined) envelope.run_id = turn.runId;
  if (isTerminal(event) && envelope.run_id === turn.runId) turns.set(session, undefined);
}
