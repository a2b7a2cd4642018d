/**
 * Decodes the `loom` dialect (000/001): flat frames, with or without envelope, strict or extended. Separates envelope
 * and event, and finds the run of frames that do not name it.
 */
import { type FieldValues, readForm } from "../../protocol/check-form.ts";
import {
  type CustomEvent,
  type Envelope,
  ENVELOPE_FORM,
  findEnvelopeFault,
  findLoomEventFault,
  findLoomEventForm,
  LOOM_EVENT_FORMS,
  LOOM_EVENT_READERS,
} from "../../protocol/events.generated.ts";
import { BoundedMap } from "../../protocol/bounded-map.ts";
import type { Hint } from "../../protocol/fault.ts";
import type { Form } from "../../protocol/form.ts";
import { isJsonObject, type Json, type JsonObject, keepFields, parseJson, parseObject } from "../../protocol/json.ts";
import { type AnyEvent, type EventRecord, isKnownType, isTerminal } from "../../protocol/record.ts";
import type { Issue } from "../../protocol/rules.ts";
import { hasLoomKey, unwrapCustomValue } from "../../protocol/strict.ts";
import { ClosingReplyFilter } from "../closing-reply-filter.ts";
import type { Decoded, Decoder, Decoding } from "../dialect.ts";
import { createFrameDecoder, createHintIssues, rejectFrame } from "../frame-decoder.ts";
import { isCount, numberEvent, readText } from "../frame-traits.ts";

const NO_ISSUES: readonly Issue[] = [];
const NOTHING: Decoded = { records: [], issues: NO_ISSUES };

/** The decoder of the `loom` dialect. */
export const LOOM_DECODING: Decoding = {
  createDecoder: createLoomDecoder,
  confidence(frame) {
    const { type, reply, event_id, node_id } = frame;
    // No other dialect uses these two envelope fields.
    if (typeof type === "string" && (event_id !== undefined || typeof node_id === "string")) return 2;
    if (typeof type === "string" && isKnownType(type) && type !== "reply")
      return findLoomEventFault(frame) === undefined ? 2 : 1;
    return typeof reply === "string" ? 2 : 0;
  },
  traits: {
    readSession: ({ session_id }) => readText(session_id),
    unnamed: "default",
    numbering: {
      isEventId: true,
      readNumber: (frame) => numberEvent(frame, frame),
      isUncounted: ({ type, reply }) => typeof reply === "string" && type == null,
    },
  },
};

function createLoomDecoder(): Decoder {
  const runs = new RunTracker();
  const readers = new ReaderCache();
  const closing = new ClosingReplyFilter();
  const slow = createFrameDecoder((frame) => readFrame(frame, runs));
  return {
    decode(text, given) {
      const frame = given ?? parseObject(text);
      // The slow path reports the syntax error.
      if (frame === undefined) return slow.decode(text);
      if (closing.matches(frame) || isCarried(frame)) return NOTHING;
      const record = readFast(frame, readers, runs);
      const decoded = record === undefined ? readFrame(frame, runs) : { records: [record], issues: NO_ISSUES };
      closing.add(frame, decoded, frame["type"] === "custom");
      return decoded;
    },
  };
}

/** An export begins with what its prompts refer to in pruned runs: stored records without a run, which are not events. */
function isCarried({ type, run_id, session_id, event_id }: JsonObject): boolean {
  return type === "llm_content" && run_id === undefined && session_id !== undefined && event_id !== undefined;
}

/**
 * Creates a reader for frames written by `createLoomEncoder` in extended form, as strings or parsed. These frames name
 * their run, so each can be read on its own and a log can be read from any position.
 */
export function createRecordReader(): (frame: unknown) => EventRecord | undefined {
  const readers = new ReaderCache();
  return (given) => {
    const frame = typeof given === "string" ? parseJson(given) : given;
    if (!isJsonObject(frame)) return undefined;
    return readFast(frame, readers) ?? readFrame(frame).records[0];
  };
}

/**
 * Returns the event in a flat frame that has `fields` fields besides its type and envelope, or undefined if the frame
 * needs the slow path.
 */
type LoomEventReader = (frame: FieldValues, fields: number) => object | undefined;

let eventReaders: ReadonlyMap<string, LoomEventReader> | undefined;

function findEventReader(type: string): LoomEventReader | undefined {
  // Keys from our own code are interned, so lookups are faster than with keys that come from parsed frames.
  eventReaders ??= new Map(Object.keys(LOOM_EVENT_FORMS).map((name) => [name, createEventReader(name)]));
  return eventReaders.get(type);
}

function createEventReader(type: string): LoomEventReader {
  const form = findLoomEventForm(type) as Form;
  return LOOM_EVENT_READERS[type] ?? ((frame, fields) => readForm(type, form, frame, fields));
}

/**
 * Caches the reader of the last event type. Frames of one type come in sequences, and a comparison is faster than a
 * lookup.
 */
class ReaderCache {
  #type = "";
  #reader: LoomEventReader | undefined;

  get(type: string): LoomEventReader | undefined {
    if (type === this.#type) return this.#reader;
    this.#type = type;
    // In got_expand, node_id is a payload field; the slow path handles it.
    this.#reader = type === "got_expand" ? undefined : findEventReader(type);
    return this.#reader;
  }
}

/** Number of fields in a full envelope; `node_id` is optional. */
const ENVELOPE_SIZE = 4;

/**
 * The fast path, for frames as our own encoder writes them: a full envelope and declared fields only. Returns undefined
 * without side effects for anything else; the slow path handles that.
 */
function readFast(frame: JsonObject, readers: ReaderCache, runs?: RunTracker): EventRecord | undefined {
  const { type: tag, session_id, run_id, node_id, event_id, ts } = frame;
  const type = tag === undefined ? "reply" : tag;
  if (typeof session_id !== "string" || typeof run_id !== "string" || typeof ts !== "number" || !Number.isFinite(ts))
    return undefined;
  if (!isCount(event_id) || typeof type !== "string") return undefined;
  const inSpan = typeof node_id === "string";
  if (!inSpan && node_id !== undefined) return undefined;
  const read = readers.get(type);
  if (read === undefined) return undefined;
  let fields = countFields(frame) - ENVELOPE_SIZE;
  if (inSpan) fields--;
  if (tag !== undefined) fields--;
  // The `run_id` of run_start also belongs to the event.
  if (type === "run_start") fields++;
  const event = read(frame, fields) as AnyEvent | undefined;
  if (event === undefined || (type === "custom" && hasLoomKey((event as CustomEvent).value))) return undefined;
  // A complete object literal is much faster than adding fields one by one.
  const envelope = inSpan ? { session_id, run_id, node_id, event_id, ts } : { session_id, run_id, event_id, ts };
  runs?.attribute(envelope, event);
  return { envelope, event };
}

function countFields(frame: JsonObject): number {
  let count = 0;
  for (const _ in frame) count++;
  return count;
}

/** Splits a frame into envelope and event, checks both, and adds the run. */
function readFrame(frame: JsonObject, runs?: RunTracker): Decoded {
  const kind = kindOf(frame);
  if (kind === undefined) {
    const seen = frame["type"] === undefined ? "neither `type` nor `reply`" : "a `type` that is not a string";
    return rejectFrame("frame-kind", `the frame has ${seen}`);
  }
  const envelopeFault = findEnvelopeFault(frame);
  if (envelopeFault !== undefined) return rejectFrame(envelopeFault.rule, envelopeFault.message, "001 §2");
  const envelope: MutableEnvelope = {};
  for (const name of ENVELOPE_FORM.fields.keys())
    if (frame[name] != null) (envelope as { [name: string]: Json })[name] = frame[name];
  const decoded = decodeEvent(liftEvent(frame, kind, envelope), envelope);
  for (const { event } of decoded.records) runs?.attribute(envelope, event);
  return decoded;
}

/** Checks an event taken from a frame. `names` maps event fields to the frame's field names, where they differ. */
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
    return rejectFrame(rule, message.replace(path, names[path] ?? path), section);
  }
  return {
    records: [{ envelope, event: dropNulls(given) }],
    issues: createHintIssues(hints, section),
  };
}

/** Returns the event without its envelope, with wrapped and renamed fields restored. */
function liftEvent(frame: JsonObject, kind: string, envelope: MutableEnvelope): AnyEvent {
  const unwrapped = kind === "custom" ? unwrapCustomValue(frame["value"]) : undefined;
  if (unwrapped !== undefined) return unwrapped;
  const begin = kind === "run_start" && frame["run_id"] !== undefined ? { run_id: frame["run_id"] } : {};
  const isOwn = (name: string): boolean => name !== "type" && !ENVELOPE_FORM.fields.has(name);
  // Copied once: a frame can have many unknown fields.
  const event = keepFields(frame, isOwn, { type: kind, ...begin }) as AnyEvent & { readonly [name: string]: Json };
  // Some senders write null for the root graph; 001 §4.2 does not mark the field as optional.
  if (kind === "checkpoint" && event["checkpoint_ns"] === null) return { ...event, checkpoint_ns: "" };
  if (kind !== "got_expand") return event;
  const { type: _type, ...own } = event;
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

/** Removes nulls in optional fields, which mean "absent". */
export function dropNulls(event: AnyEvent): AnyEvent {
  if (!Object.values(event).includes(null)) return event;
  const fields = findLoomEventForm(event.type)?.fields;
  const isKept = (name: string, value: Json) => value !== null || fields?.get(name)?.required !== false;
  return keepFields(event as JsonObject, isKept) as AnyEvent;
}

type MutableEnvelope = { -readonly [K in keyof Envelope]: Envelope[K] };

const MAX_SESSIONS = 10_000;

interface CurrentRun {
  readonly runId: string | undefined;
  /** True once a frame after run_start named its run; from then on, frames without a run ID belong to no run. */
  explicit: boolean;
}

/** Finds the run of frames that do not name one: the current run of their session. */
class RunTracker {
  readonly #runs = new BoundedMap<CurrentRun>(MAX_SESSIONS);
  /** Cache of the last lookup, because consecutive frames usually share a session. */
  #session: string | undefined;
  #run: CurrentRun | undefined;

  /** Adds the missing run ID to the envelope, and tracks where runs start and end. */
  attribute(envelope: MutableEnvelope, event: AnyEvent): void {
    const session = envelope.session_id ?? "";
    if (event.type === "run_start") {
      this.#set(session, { runId: envelope.run_id, explicit: false });
      return;
    }
    const run = this.#get(session);
    if (run === undefined) return;
    if (envelope.run_id !== undefined) run.explicit = true;
    else if (!run.explicit && run.runId !== undefined) envelope.run_id = run.runId;
    if (isTerminal(event) && envelope.run_id === run.runId) this.#set(session, undefined);
  }

  #get(session: string): CurrentRun | undefined {
    if (session === this.#session) return this.#run;
    this.#session = session;
    this.#run = this.#runs.get(session);
    return this.#run;
  }

  #set(session: string, run: CurrentRun | undefined): void {
    if (run === undefined) this.#runs.delete(session);
    else this.#runs.set(session, run);
    this.#session = session;
    this.#run = run;
  }
}
