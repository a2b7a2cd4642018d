/**
 * Converts a stream from one dialect to another, frame by frame: decode, stamp, encode. Events that the target cannot
 * carry are counted by type. A run of a dialect without node runs gets one if the target has them. Unpaired surrogates
 * are joined or replaced with U+FFFD. State deltas are expanded to full states if receivers of the target do not know
 * deltas; states that cannot be expanded, and stored results of parts of a node, are omitted.
 */
import { type EventOf, type EventRecord, isKnownEvent, type Issue, type StampedRecord } from "../protocol/index.ts";
import { runKey } from "../protocol/match-run.ts";
import { isAnswerChannel, isTerminal, opensNoRun } from "../protocol/record.ts";
import { BoundedMap } from "../protocol/bounded-map.ts";
import type { RunEndEvent } from "../protocol/events.generated.ts";
import { mayHaveUnpairedSurrogate, repairJson } from "../protocol/json.ts";
import { RunStates } from "../protocol/run-states.ts";
import { isSendable } from "../protocol/stream-modes.ts";
import { repairEvent, TextJoiner } from "../protocol/text-joiner.ts";
import { type Dialect, type EncoderOptions, NO_FRAMES } from "./dialect.ts";
import { createStamper } from "./stamp.ts";
import { DEFAULT_NODE_NAME } from "./tool-values.ts";

const MAX_RUNS = 1000;

/** Options of `createStreamConverter`. */
export interface ConvertOptions extends EncoderOptions {
  /** Session ID for records that have none. Default: `session`. */
  readonly session?: string;
}

/** The result of converting one frame. */
export interface Converted {
  readonly frames: readonly string[];
  readonly issues: readonly Issue[];
}

/** A conversion in progress. */
export interface StreamConverter {
  convert(text: string): Converted;
  /** Number of omitted events by type. */
  readonly lost: ReadonlyMap<string, number>;
  /** Number of records that wait for a later one. */
  readonly held: number;
  /** Number of records dropped because they belong to no run. */
  readonly dropped: number;
}

/**
 * Creates a converter from one dialect to another.
 *
 * ```ts
 * const converter = createStreamConverter(DIALECTS.loom, DIALECTS.lumine);
 * for (const frame of frames) send(converter.convert(frame).frames);
 * ```
 */
export function createStreamConverter(from: Dialect, to: Dialect, options: ConvertOptions = {}): StreamConverter {
  const decoder = from.createDecoder();
  const encoder = to.createEncoder(options);
  const stamp = createStamper(options.session ?? DEFAULT_SESSION);
  const hasStates = to.ledger.values.support !== "omitted";
  const states = hasStates && (!to.carriesDeltas || options.strict === true) ? new RunStates() : undefined;
  const account = createAccount(to, options);
  const lost = new Map<string, number>();
  /** By run, from the first unpaired surrogate on. */
  let texts: BoundedMap<TextJoiner> | undefined;
  const hasNodes = ({ ledger: { node_enter } }: Dialect) =>
    node_enter.support !== "omitted" && node_enter.isLost?.({ type: "node_enter", id: "" }) !== true;
  const enterNode = hasNodes(to) && !hasNodes(from) ? createNodeEntry() : undefined;
  return {
    lost,
    get dropped() {
      return encoder.dropped ?? 0;
    },
    get held() {
      return encoder.held ?? 0;
    },
    convert(text) {
      const { records, issues } = decoder.decode(text);
      if (mayHaveUnpairedSurrogate(text)) texts ??= new BoundedMap<TextJoiner>(MAX_RUNS);
      const repaired = texts === undefined ? records : records.map(repair);
      const whole = enterNode === undefined ? repaired : repaired.flatMap(enterNode);
      if (whole.length === 1) return { frames: write(whole[0] as EventRecord), issues };
      return { frames: whole.flatMap(write), issues };
    },
  };

  function repair(record: EventRecord): EventRecord {
    const envelope = repairJson(record.envelope);
    const { session_id, run_id, node_id } = envelope;
    const key = runKey(session_id, run_id);
    const joiner = (texts as BoundedMap<TextJoiner>).getOrCreate(key, () => new TextJoiner());
    // What is left of a text that ended is dropped: another frame would have no number in the stream.
    joiner.endedBy(record.event, node_id);
    return { envelope, event: joiner.join(repairEvent(record.event), node_id) };
  }

  function write(record: EventRecord): readonly string[] {
    const { type } = record.event;
    states?.add(record);
    const isForReceivers = options.strict !== true || isSendable(type);
    const shown = states === undefined ? record.event : states.withFullState(record);
    const event = isForReceivers ? shown : undefined;
    if (event === undefined || !isCarried(to, record)) lost.set(type, (lost.get(type) ?? 0) + 1);
    if (event === undefined) {
      account.omit(record);
      return NO_FRAMES;
    }
    const stamped = stamp(event === record.event ? record : { ...record, event });
    return encoder.encode(account.correct(stamped, record.envelope.event_id === undefined));
  }
}

const DEFAULT_SESSION = "session";
const MAX_TRACKED = 1000;

/**
 * Keeps the proof of completeness true: if states are omitted, the next frame names its predecessor. In strict form and
 * without event IDs, `run_end` counts the frames that were written; frames that the input declared as omitted are not among them.
 * In a run whose frames were numbered here, `run_end` names these numbers.
 */
function createAccount(to: Dialect, { envelope = true, strict = false, session = DEFAULT_SESSION }: ConvertOptions) {
  const hasIds = envelope && to.traits.numbering?.isEventId === true;
  const isChained = hasIds && !strict;
  const keyOf = ({ envelope: { session_id = session, run_id = "" } }: EventRecord) => (isChained ? session_id : run_id);
  const lastIds = new BoundedMap<number>(MAX_TRACKED);
  const omitted = new BoundedMap<number>(MAX_TRACKED);
  const starts = new BoundedMap<number>(MAX_TRACKED);
  const omit = (record: EventRecord, count: number) =>
    omitted.set(keyOf(record), (omitted.get(keyOf(record)) ?? 0) + count);
  return {
    omit(record: EventRecord): void {
      omit(record, 1);
    },
    /** `isNew` is true if the event ID was assigned by this conversion. */
    correct(record: StampedRecord, isNew: boolean): StampedRecord {
      const numbered = hasIds && isNew ? renumber(record) : record;
      return isChained ? chain(numbered) : count(numbered);
    },
  };

  function chain(record: StampedRecord): StampedRecord {
    const { session_id, event_id } = record.envelope;
    const last = lastIds.get(session_id);
    lastIds.set(session_id, event_id);
    if (!omitted.delete(session_id) || last === undefined || event_id === last + 1) return record;
    return { ...record, envelope: { ...record.envelope, prev_event_id: last } };
  }

  function renumber({ envelope: stamped, event }: StampedRecord): StampedRecord {
    const { event_id, run_id = "" } = stamped;
    if (event.type === "run_start") starts.set(run_id, event_id);
    if (event.type !== "run_end") return { envelope: stamped, event };
    const { first_event_id: _, last_event_id: hasLast, ...rest } = event as RunEndEvent;
    const first_event_id = starts.get(run_id);
    starts.delete(run_id);
    if (hasLast === undefined || first_event_id === undefined) return { envelope: stamped, event: rest };
    const last_event_id = isTerminal(event) ? event_id : event_id + 1;
    return { envelope: stamped, event: { ...rest, first_event_id, last_event_id } };
  }

  function count(record: StampedRecord): StampedRecord {
    const { event_id, prev_event_id } = record.envelope;
    const { type } = record.event;
    if (prev_event_id !== undefined && type !== "run_start") omit(record, Math.max(0, event_id - prev_event_id - 1));
    const missing = omitted.get(keyOf(record)) ?? 0;
    if (type !== "run_end" || missing === 0) return record;
    omitted.delete(keyOf(record));
    const { frame_count } = record.event as RunEndEvent;
    if (frame_count === undefined) return record;
    return { ...record, event: { ...record.event, frame_count: Math.max(0, frame_count - missing) } };
  }
}

/** True if the dialect carries any part of the event. */
function isCarried(dialect: Dialect, { event }: EventRecord): boolean {
  if (!isKnownEvent(event)) return dialect.carriesUnknown;
  const row = dialect.ledger[event.type];
  return row.support !== "omitted" && row.isLost?.(event) !== true;
}

const NODE_ID = `run-${DEFAULT_NODE_NAME}-1`;

interface EnteredRun {
  isOpen: boolean;
  /** Characters of the answer so far. */
  length: number;
}

/**
 * Adds a node run to runs of dialects that have none, for dialects that have them: the records of a run name the node
 * `agent`, so it is entered before the first of them and exited before the end of the run.
 */
function createNodeEntry(): (record: EventRecord) => readonly EventRecord[] {
  const runs = new BoundedMap<EnteredRun>(MAX_RUNS);
  return (record) => {
    const { envelope, event } = record;
    // Such a record may belong to the session.
    if (!isKnownEvent(event) || opensNoRun(event)) return [record];
    const key = runKey(envelope.session_id, envelope.run_id);
    if (event.type === "run_start") {
      runs.delete(key);
      return [record];
    }
    const inside = { ...envelope, node_id: NODE_ID };
    const added: EventRecord[] = [];
    let run = runs.get(key);
    if (event.type !== "run_end" && event.type !== "reply") {
      if (run === undefined) {
        runs.set(key, (run = { isOpen: true, length: 0 }));
        added.push({ envelope: inside, event: { type: "node_enter", id: DEFAULT_NODE_NAME } });
      }
      if (event.type === "message_chunk" && isAnswerChannel(event.channel)) run.length += event.content.length;
      return [...added, { envelope: inside, event }];
    }
    if (isTerminal(event)) runs.delete(key);
    if (run?.isOpen === true) added.push({ envelope: inside, event: createExit(event) });
    if (run !== undefined) run.isOpen = false;
    // A reply has the node_id of the node run whose answer it repeats. 002 repeats only the last part.
    const isWhole = event.type === "reply" && run?.length === event.reply.length;
    return [...added, isWhole ? { envelope: inside, event } : record];
  };
}

function createExit(end: EventOf<"run_end" | "reply">): EventOf<"node_exit"> {
  const isOk = end.type === "reply" || end.status === "completed";
  const result = isOk ? "Ok" : { Err: end.reason ?? end.status };
  return { type: "node_exit", id: DEFAULT_NODE_NAME, result };
}
