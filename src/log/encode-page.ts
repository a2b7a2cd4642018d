/**
 * Encodes pages of stored records as frames of one dialect, with the selected stream modes. It does not know cursors.
 *
 * - Without modes all events are sent except graph states (`updates`, `values` and `checkpoint`).
 * - With modes only their events are sent, and states are sent in full, unless the dialect writes its own deltas. A state
 *   that cannot be restored is omitted.
 * - What is for the owner only (`llm_content`) is never sent.
 * - A `loom` frame that follows omitted records names its predecessor in `prev_event_id`. In strict form, and in
 *   dialects without an envelope, `run_end` counts the frames that were sent.
 *
 * Invariants:
 * - The frames of a record depend only on the records before it. A stream that starts later produces the same frames
 *   if the encoder is first shown all records of the runs that were live there (`needsRunHistory`), or continues a
 *   saved one.
 * - Frames are encoded lazily: with full states a page can become a thousand times as long.
 */
import type { Dialect, MissingText } from "../dialects/dialect.ts";
import type { EncoderOptions } from "../dialects/index.ts";
import { createRecordReader } from "../dialects/loom/decode.ts";
import { type AnyEvent, isLoomError, type StampedRecord } from "../protocol/index.ts";
import { BoundedMap } from "../protocol/bounded-map.ts";
import type { RunEndEvent } from "../protocol/events.generated.ts";
import { isTerminal } from "../protocol/record.ts";
import { RunStates, type SavedRunStates } from "../protocol/run-states.ts";
import { isStateEvent } from "../protocol/state-fold.ts";
import { findStreamMode, isSendable, type StreamModes } from "../protocol/stream-modes.ts";
import { STORED_DIALECT } from "./entry.ts";
import { readPage } from "./follow-records.ts";
import type { Log, SessionInfo } from "./log.ts";
import { copyText } from "./measure-text.ts";
import type { Page } from "./page.ts";

/** A stored state of an encoder. */
export interface FoundState {
  /** The last record in the state. */
  readonly eventId: number;
  readonly saved: SavedPageEncoder;
}

/** The dialect, its options, and the selected stream modes. */
export interface PageEncoding {
  readonly dialect: Dialect;
  readonly encoderOptions: EncoderOptions;
  readonly modes: StreamModes | undefined;
  /** Version of the encoder. */
  readonly version: number;
}

/**
 * Whether each frame depends only on its record, so that a reader can continue at any record, also with another version
 * of the encoder. States are computed from the records.
 */
export function isIndependent({ dialect, encoderOptions }: Omit<PageEncoding, "modes" | "version">): boolean {
  return dialect === STORED_DIALECT && encoderOptions.strict !== true && encoderOptions.envelope !== false;
}

/** Encodes the pages of one stream. */
export interface PageEncoder {
  /**
   * Returns the frames of each record of a page, from the start record on. Pages must be passed in order. A missing
   * text must be added before the iteration continues.
   */
  encode(page: Page): Iterable<readonly string[] | MissingText>;
  /**
   * Returns the state after the last page, whose last record is `lastId`; undefined if a stream can start there without
   * it. Clone or serialize it before the next page.
   */
  save(lastId: number): SavedPageEncoder | undefined;
}

/** The state of a `PageEncoder`: plain data that can be stored. Increase `STATE_VERSION` when it changes. */
export interface SavedPageEncoder {
  /** The last record that was not omitted. */
  readonly last: number;
  /** Absent if only `last` is needed. */
  readonly selection?: SavedSelection;
  /** The state of the dialect's encoder; see `Encoder`. */
  readonly encoder?: unknown;
}

interface SavedSelection {
  readonly states: SavedRunStates | undefined;
  /** Number of omitted records by run, and whether runs were evicted. */
  readonly omitted: Map<string, number>;
  readonly isEvicted: boolean;
}

const NOTHING: readonly string[] = [];
/** Runs whose omitted records are counted at the same time. */
const MAX_LIVE_RUNS = 1000;

/** Whether an encoder that starts in the middle of a run must first be shown the run's earlier records. */
export function needsRunHistory(encoding: PageEncoding): boolean {
  return isStateful(encoding) || includesStates(encoding) || countsFrames(encoding);
}

/** In strict form the end of a run depends on its text. */
function isStateful({ dialect, encoderOptions }: PageEncoding): boolean {
  return dialect.isStateful || encoderOptions.strict === true;
}

function includesStates({ dialect, modes }: PageEncoding): boolean {
  if (modes === undefined || dialect.ledger.values.support === "omitted") return false;
  return modes === "all" || modes.some((mode) => mode === "updates" || mode === "values" || mode === "checkpoints");
}

/** Whether `run_end` must state the number of frames sent, because the frames do not name omitted ones. */
function countsFrames({ dialect, encoderOptions }: PageEncoding): boolean {
  const { envelope = true, strict = false } = encoderOptions;
  const { run_end } = dialect.ledger;
  if (run_end.support === "omitted" || run_end.lostFields.includes("frame_count")) return false;
  return !isChained(dialect) || !envelope || strict;
}

/** Whether frames carry event IDs, so that a frame after omitted records names its predecessor. */
export function isChained({ traits }: Dialect): boolean {
  return traits.numbering?.isEventId === true;
}

/**
 * False if no run ends on this page. The check is a text search: in stored texts, quotes inside strings are escaped, so
 * these keys are only found where they are keys.
 */
export function mayContainRunEnd({ texts }: Page): boolean {
  return texts.some((text) => text.includes('"reply"') || text.includes('"run_end"'));
}

/**
 * Creates the encoder of one stream. `startId` is the first record to encode. `before` is the state before the first
 * page; it has only `last` if no earlier record is needed.
 */
export function createPageEncoder(encoding: PageEncoding, before: SavedPageEncoder, startId: number): PageEncoder {
  const { dialect, encoderOptions, modes } = encoding;
  const isStored = isIndependent(encoding);
  if (isStored && !includesStates(encoding)) return createStoredTextEncoder(modes, before.last);
  const selection = createSelection(encoding, before.selection);
  const own = dialect.createEncoder(encoderOptions, before.encoder);
  const namesPrevious = isChained(dialect);
  const needsRecords = isStateful(encoding);
  let { last } = before;

  /** Updates the encoder with a record before the start, whose frames are not sent. */
  function consume(page: Page, index: number): void {
    let isSent: boolean;
    if (needsRecords) {
      const record = page.records[index] as StampedRecord;
      isSent = selection.take(record);
      selection.endRun(record);
      if (isSent) own.encode(record);
    } else isSent = selection.takeText(page.texts[index] as string);
    if (isSent) last = page.after + 1 + index;
  }

  function write(record: StampedRecord, text: string | undefined): readonly string[] {
    const isSent = selection.take(record);
    const event = isSent ? selection.show(record) : undefined;
    if (event === undefined) return NOTHING;
    const { envelope } = record;
    const previous = last;
    last = envelope.event_id;
    if (namesPrevious && previous !== last - 1)
      return own.encode({ envelope: { ...envelope, prev_event_id: previous }, event });
    if (event !== record.event) return own.encode({ envelope, event });
    return text === undefined ? own.encode(record) : [text];
  }

  return {
    *encode(page) {
      let index = 0;
      const first = Math.min(startId - 1 - page.after, page.length);
      for (; index < first; index++) consume(page, index);
      if (index === page.length) return;
      const { records } = page;
      const texts = isStored ? page.texts : undefined;
      for (; index < records.length; index++) {
        const record = records[index] as StampedRecord;
        const missing = own.findMissingText?.(record);
        if (missing !== undefined) yield missing;
        yield write(record, texts?.[index]);
      }
    },
    save() {
      if (needsRecords && own.save === undefined) return undefined;
      return { last, selection: selection.save(), encoder: own.save?.() };
    },
  };
}

/** Decides which records are sent and what is sent of them. */
function createSelection(encoding: PageEncoding, saved?: SavedSelection) {
  const { dialect, modes } = encoding;
  const foldsStates = dialect.isStateful && dialect.carriesDeltas;
  const wants = createFilter(foldsStates ? addChanges(modes) : modes);
  const states = includesStates(encoding) && !foldsStates ? new RunStates(saved?.states) : undefined;
  const counts = saved?.omitted ?? new Map<string, number>();
  const omitted = countsFrames(encoding) ? new BoundedMap(MAX_LIVE_RUNS, undefined, counts) : undefined;
  if (omitted !== undefined && saved?.isEvicted === true) omitted.evicted = true;

  /** Adds the next record; returns whether it is sent. */
  function take(record: StampedRecord): boolean {
    const { event } = record;
    const isKnown = states?.add(record) ?? true;
    const isSent = isKnown && wants(event);
    if (omitted !== undefined) {
      const { run_id = "" } = record.envelope;
      if (event.type === "run_start") omitted.delete(run_id);
      if (!isSent) omitted.set(run_id, (omitted.get(run_id) ?? 0) + 1);
    }
    return isSent;
  }

  /** Removes the count of a run whose end is not sent. */
  function endRun({ envelope: { run_id = "" }, event }: StampedRecord): void {
    if (event.type === "run_end") omitted?.delete(run_id);
  }

  return {
    take,
    endRun,
    save: (): SavedSelection => ({
      states: states?.save(),
      omitted: counts,
      isEvicted: omitted?.evicted === true,
    }),
    /** `take` for a stored text before the start; parses the record only if necessary. */
    takeText(text: string): boolean {
      const found = findEvent(text);
      if (found !== undefined && !isTracked(found)) {
        const isSent = wants(found);
        if (isSent || omitted === undefined) return isSent;
      }
      const record = readRecord(text) as StampedRecord | undefined;
      if (record === undefined) return true;
      const isSent = take(record);
      endRun(record);
      return isSent;
    },
    /** Returns the event to send for the record added last; undefined if its state cannot be restored. */
    show(record: StampedRecord): AnyEvent | undefined {
      const { envelope, event } = record;
      if (event.type === "run_end" && omitted !== undefined) {
        const { frame_count } = event as RunEndEvent;
        const { run_id = "" } = envelope;
        const missing = omitted.get(run_id) ?? 0;
        omitted.delete(run_id);
        if (frame_count === undefined || (missing === 0 && !omitted.evicted)) return event;
        if (!omitted.evicted) return { ...event, frame_count: Math.max(0, frame_count - missing) };
        const { frame_count: _, ...rest } = event as RunEndEvent;
        return rest;
      }
      return states === undefined ? event : states.withFullState(record);
    },
  };
}

/** Whether the selection must keep something about this event beyond sending it. */
function isTracked(event: AnyEvent): boolean {
  return isStateEvent(event) || isTerminal(event) || event.type === "run_start" || event.type === "run_end";
}

/** Adds the events that change the state, for an encoder that writes its own deltas. */
function addChanges(modes: StreamModes | undefined): StreamModes | undefined {
  return typeof modes === "object" && modes.includes("values") ? [...modes, "updates", "checkpoints"] : modes;
}

function createFilter(modes: StreamModes | undefined): (event: AnyEvent) => boolean {
  if (modes === undefined) return (event) => !isStateEvent(event) && isSendable(event.type);
  if (modes === "all") return ({ type }) => isSendable(type);
  const wanted = new Set<string>(["always", ...modes]);
  return ({ type }) => wanted.has(findStreamMode(type));
}

/** A page with none of these texts has no graph states, and nothing that is for the owner only. */
const OMITTED_MARKS = ['"updates"', '"values"', '"checkpoint"', '"llm_content"'] as const;
const TYPE = ',"type":"';
const REPLY = ',"reply":"';

const readRecord = createRecordReader();
const encoder = STORED_DIALECT.createEncoder();

/** Sends texts as they are stored and parses them only if necessary. */
function createStoredTextEncoder(modes: StreamModes | undefined, lastSentBefore: number): PageEncoder {
  const keepsText = createTextFilter(modes);
  let last = lastSentBefore;
  const encode: PageEncoder["encode"] = ({ texts, text: all, after, lastId }) => {
    if (modes === undefined && last === after && !OMITTED_MARKS.some((mark) => all.includes(mark))) {
      last = lastId;
      return texts.map((text) => [text]);
    }
    return texts.map((text, index) => {
      if (!keepsText(text)) return NOTHING;
      const id = after + 1 + index;
      const shown = last === id - 1 ? text : addPrevious(text, last);
      last = id;
      // A channel keeps frames; they must not keep the omitted rest of the page.
      return [copyText(shown)];
    });
  };
  // The last record that was sent is usually one of the last few, and then found without a snapshot.
  return { encode, save: (lastId) => (lastId - last < LONG_SCAN ? undefined : { last }) };
}

function createTextFilter(modes: StreamModes | undefined): (text: string) => boolean {
  const keeps = createFilter(modes);
  return (text) => {
    const event = findEvent(text) ?? readRecord(text)?.event;
    return event === undefined || keeps(event);
  };
}

/**
 * Finds the type of a stored event and its offset without parsing the text; undefined if an object comes before the
 * type. In stored texts, quotes inside strings are escaped, so the keys are only found where they are keys.
 */
function findEvent(text: string): { readonly type: string; readonly at: number } | undefined {
  const object = text.indexOf("{", 1);
  const limit = object === -1 ? text.length : object;
  const at = text.indexOf(TYPE);
  if (at !== -1) {
    const from = at + TYPE.length;
    return at < limit ? { type: text.slice(from, text.indexOf('"', from)), at } : undefined;
  }
  // Only an event without a type is a reply. Its `reply` may be the first key or be formatted differently.
  if (text.includes('"type"')) return undefined;
  const reply = text.indexOf(REPLY);
  return reply !== -1 && reply < limit ? { type: "reply", at: reply } : undefined;
}

/** Adds `prev_event_id` to a frame. */
function addPrevious(text: string, prev_event_id: number): string {
  const found = findEvent(text);
  if (found !== undefined && !text.includes('"prev_event_id"'))
    return `${text.slice(0, found.at)},"prev_event_id":${prev_event_id}${text.slice(found.at)}`;
  const record = readRecord(text) as StampedRecord | undefined;
  if (record === undefined) return text;
  return encoder.encode({ envelope: { ...record.envelope, prev_event_id }, event: record.event })[0] ?? text;
}

/** Records of the first backward scan; each further scan covers eight times as many. */
const FIRST_SCAN = 8;
/** Records omitted in a row after which a snapshot is worth it. */
const LONG_SCAN = FIRST_SCAN * 8;

/**
 * Returns the last record up to `id` that is not omitted. If all stored records up to `id` are omitted, returns the ID
 * before the first stored record. `findState` finds a saved state between two records.
 */
export async function findLastSentId(
  log: Log,
  encoding: PageEncoding,
  info: SessionInfo,
  id: number,
  findState: (after: number, id: number) => Promise<FoundState | undefined>,
): Promise<number> {
  const { sessionId, incarnation, firstId } = info;
  const keeps = createTextFilter(encoding.modes);
  let known: FoundState | undefined;
  try {
    for (let to = id, span = FIRST_SCAN; to >= firstId; span *= 8) {
      if (to !== id) known ??= await findState(firstId - 1, to);
      if (to === known?.eventId) return known.saved.last;
      const after = Math.max(firstId - 1, known?.eventId ?? 0, to - span);
      const shown = await findLast(log, info, keeps, after, to);
      if (shown !== undefined) return shown;
      to = after;
    }
  } catch (error) {
    if (!isLoomError(error, "evicted")) throw error;
    // Pruned in the meantime. The last pruned record ends a run, and such records are never omitted.
    const now = await log.getSession(sessionId);
    if (now?.incarnation !== incarnation || now.firstId > id + 1) throw error;
    return findLastSentId(log, encoding, now, id, findState);
  }
  return firstId - 1;
}

async function findLast(
  log: Log,
  info: SessionInfo,
  keeps: (text: string) => boolean,
  after: number,
  to: number,
): Promise<number | undefined> {
  let last: number | undefined;
  for (let position = after; position < to;) {
    const page = await readPage(log, info, { after: position, limit: to - position });
    const index = page.texts.findLastIndex(keeps);
    if (index >= 0) last = position + 1 + index;
    if (page.isEmpty) break;
    position = page.lastId;
  }
  return last;
}
