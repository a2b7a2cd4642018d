/**
 * The frames of stored records, for one reader: what it asked for, in its dialect, with states whole. It knows no cursor.
 *
 * - Without modes everything comes, except the states of which only the first is stored whole: nobody pays for what they
 *   did not ask for, and nobody is shown the first as if it were the last.
 * - With modes only their events come, and states are whole. One that cannot be made so is left out.
 * - A `loom` frame whose predecessor was left out says which came before it. Where frames have no envelope to say it in,
 *   run_end counts those that were sent.
 *
 * Invariants:
 * - The frames of a record depend on nothing but the records before it, so whoever begins later gives the same, if it was
 *   shown all records of the runs that were live there (`needsRun`).
 * - Frames are made one by one, when they are asked for: a page may be a thousand times as long with states whole.
 */
import { createRecordReader, type Dialect, DIALECTS, type EncoderOptions } from "../dialects/index.ts";
import {
  type AnyEvent,
  BoundedMap,
  findStreamMode,
  isLoomError,
  isOfDeltas,
  isStateEvent,
  isTerminal,
  type RunEndEvent,
  RunStates,
  type StampedRecord,
  type StreamModes,
} from "../protocol/index.ts";
import type { Log, SessionInfo } from "./log.ts";
import type { Page } from "./page.ts";

export interface Reading {
  readonly dialect: Dialect;
  readonly encoderOptions: EncoderOptions;
  readonly modes: StreamModes | undefined;
}

/** The frames of each record of a page from the start on. Pages are to be given in order. */
export type PageEncoder = (page: Page) => Iterable<readonly string[]>;

const NOTHING: readonly string[] = [];

/** Runs for which it is counted at a time what was left out. */
const MAX_LIVE_RUNS = 1000;

/** True where whoever begins midway must first be shown its run. */
export function needsRun(reading: Reading): boolean {
  return reading.dialect.folds || showsStates(reading) || countsFrames(reading);
}

function showsStates({ dialect, modes }: Reading): boolean {
  if (modes === undefined || dialect.ledger.values.fate === "omitted") return false;
  return modes === "all" || modes.some((mode) => mode === "updates" || mode === "values" || mode === "checkpoints");
}

/** Its frames have no envelope, and yet a run_end with the number of them. */
function countsFrames({ dialect, encoderOptions, modes }: Reading): boolean {
  return modes !== "all" && !dialect.folds && (dialect.name !== "loom" || encoderOptions.envelope === false);
}

/**
 * False if no run ends on this page: no record of it is what runs end with. These keys stand between plain quotation
 * marks; inside somebody's words such are written otherwise.
 */
export function mayEndRunIn({ texts }: Page): boolean {
  return texts.some((text) => text.includes('"reply"') || text.includes('"run_end"'));
}

/**
 * `startId` is the first record whose frames are wanted; `shownBefore` the last one before the first page that was not
 * left out.
 */
export function createPageEncoder(reading: Reading, shownBefore: number, startId: number): PageEncoder {
  const { dialect, encoderOptions, modes } = reading;
  const isStored = dialect.name === "loom" && encoderOptions.strict !== true && encoderOptions.envelope !== false;
  if (isStored && !showsStates(reading)) return createTextEncoder(modes, shownBefore);
  const choice = createChoice(reading);
  const own = dialect.createEncoder(encoderOptions);
  const isChained = dialect.name === "loom";
  let last = shownBefore;

  /** What came before the start is taken in and not written. */
  function takeIn(page: Page, index: number): void {
    const id = page.after + 1 + index;
    if (dialect.folds) {
      const record = page.records[index] as StampedRecord;
      if (choice.take(record)) own.encode(record);
    } else if (choice.takeText(page.texts[index] as string)) last = id;
  }

  function write(record: StampedRecord, text: string | undefined): readonly string[] {
    const isSent = choice.take(record);
    const event = isSent ? choice.show(record) : undefined;
    if (event === undefined) return NOTHING;
    const { envelope } = record;
    const before = last;
    last = envelope.event_id;
    if (isChained && before !== last - 1)
      return own.encode({ envelope: { ...envelope, prev_event_id: before }, event });
    if (event !== record.event) return own.encode({ envelope, event });
    return text === undefined ? own.encode(record) : [text];
  }

  return function* (page) {
    let index = 0;
    const first = Math.min(startId - 1 - page.after, page.length);
    for (; index < first; index++) takeIn(page, index);
    if (index === page.length) return;
    const { records } = page;
    const texts = isStored ? page.texts : undefined;
    for (; index < records.length; index++) yield write(records[index] as StampedRecord, texts?.[index]);
  };
}

/** Which records are sent, and as what. */
function createChoice(reading: Reading) {
  const wants = createFilter(reading.modes);
  const states = showsStates(reading) ? new RunStates() : undefined;
  const leftOut = countsFrames(reading) ? new BoundedMap<number>(MAX_LIVE_RUNS) : undefined;

  /** Takes in the next record; false where it is left out. */
  function take(record: StampedRecord): boolean {
    const { event } = record;
    const isKnown = states?.add(record) ?? true;
    const isSent = isKnown && wants(event);
    if (leftOut !== undefined) {
      const { run_id = "" } = record.envelope;
      if (event.type === "run_start") leftOut.delete(run_id);
      if (!isSent) leftOut.set(run_id, (leftOut.get(run_id) ?? 0) + 1);
    }
    return isSent;
  }

  return {
    take,
    /** The same, reading no more of its text than it must. */
    takeText(text: string): boolean {
      const found = findEvent(text);
      if (found !== undefined && !isRemembered(found)) {
        const isSent = wants(found);
        if (isSent || leftOut === undefined) return isSent;
      }
      const record = readRecord(text) as StampedRecord | undefined;
      return record === undefined || take(record);
    },
    /** The event that was taken in last, as it is to be sent. */
    show(record: StampedRecord): AnyEvent | undefined {
      const { envelope, event } = record;
      if (event.type === "run_end" && leftOut !== undefined) {
        const { frame_count } = event as RunEndEvent;
        const { run_id = "" } = envelope;
        const missing = leftOut.get(run_id) ?? 0;
        leftOut.delete(run_id);
        if (frame_count === undefined || (missing === 0 && !leftOut.evicted)) return event;
        if (!leftOut.evicted) return { ...event, frame_count: Math.max(0, frame_count - missing) };
        const { frame_count: _, ...rest } = event as RunEndEvent;
        return rest;
      }
      return states === undefined ? event : states.show(record);
    },
  };
}

/** Whether more is learned from it than whether it is sent. */
function isRemembered(event: AnyEvent): boolean {
  return isStateEvent(event) || isTerminal(event) || event.type === "run_start" || event.type === "run_end";
}

function createFilter(modes: StreamModes | undefined): (event: AnyEvent) => boolean {
  if (modes === undefined) return (event) => !isOfDeltas(event);
  if (modes === "all") return () => true;
  const wanted = new Set<string>(["always", ...modes]);
  return ({ type }) => wanted.has(findStreamMode(type));
}

const MARK = '"delta"';
const DELTA_ENDS = ['"delta":true}', '"delta":false}'] as const;
const TYPE = ',"type":"';
const REPLY = ',"reply":"';

const readRecord = createRecordReader();
const encoder = DIALECTS.loom.createEncoder();

/** Texts as they are stored, without reading more of them than it must. */
function createTextEncoder(modes: StreamModes | undefined, shownBefore: number): PageEncoder {
  const keepsText = modes === undefined ? (text: string) => !isDeltaText(text) : createTextFilter(modes);
  let last = shownBefore;
  return ({ texts, text: all, after, lastId }) => {
    if (modes === undefined && last === after && !all.includes(MARK)) {
      last = lastId;
      return texts.map((text) => [text]);
    }
    return texts.map((text, index) => {
      if (!keepsText(text)) return NOTHING;
      const id = after + 1 + index;
      const shown = last === id - 1 ? text : addPrevious(text, last);
      last = id;
      return [shown];
    });
  };
}

function createTextFilter(modes: StreamModes): (text: string) => boolean {
  const keeps = createFilter(modes);
  return (text) => {
    const event = findEvent(text) ?? readRecord(text)?.event;
    return event === undefined || keeps(event);
  };
}

/** `isOfDeltas` of the event. Texts of our own that are one end in it; what others wrote may have it anywhere. */
function isDeltaText(text: string): boolean {
  const isAtEnd = text.endsWith(DELTA_ENDS[0]) || text.endsWith(DELTA_ENDS[1]);
  if (!isAtEnd && !text.includes(MARK)) return false;
  const found = findEvent(text);
  if (found !== undefined) {
    const mayBe = isOfDeltas({ type: found.type, delta: true });
    if (isAtEnd || !mayBe) return mayBe;
  }
  const record = readRecord(text);
  return record !== undefined && isOfDeltas(record.event);
}

/**
 * The type of a text's event and where it stands, where that can be told without reading the whole: no object comes
 * before it. These keys stand between plain quotation marks; inside somebody's words such are written otherwise.
 */
function findEvent(text: string): { readonly type: string; readonly at: number } | undefined {
  const object = text.indexOf("{", 1);
  const limit = object === -1 ? text.length : object;
  const at = text.indexOf(TYPE);
  if (at !== -1) {
    const from = at + TYPE.length;
    return at < limit ? { type: text.slice(from, text.indexOf('"', from)), at } : undefined;
  }
  // Only what has no type is a reply; it may stand first, or be written otherwise.
  if (text.includes('"type"')) return undefined;
  const reply = text.indexOf(REPLY);
  return reply !== -1 && reply < limit ? { type: "reply", at: reply } : undefined;
}

/** The same frame, saying which came before it. */
function addPrevious(text: string, prev_event_id: number): string {
  const found = findEvent(text);
  if (found !== undefined && !text.includes('"prev_event_id"'))
    return `${text.slice(0, found.at)},"prev_event_id":${prev_event_id}${text.slice(found.at)}`;
  const record = readRecord(text) as StampedRecord | undefined;
  if (record === undefined) return text;
  return encoder.encode({ envelope: { ...record.envelope, prev_event_id }, event: record.event })[0] ?? text;
}

/** How far back is looked at first; each time eight times as far. */
const FIRST_LOOK = 8;

/** The last record up to `id` that is not left out; where all that are held are, the one before them. */
export async function findShownBefore(log: Log, reading: Reading, info: SessionInfo, id: number): Promise<number> {
  const { sessionId, incarnation, firstId } = info;
  const { modes } = reading;
  const keeps = modes === undefined ? (text: string) => !isDeltaText(text) : createTextFilter(modes);
  try {
    for (let to = id, look = FIRST_LOOK; to >= firstId; look *= 8) {
      const after = Math.max(firstId - 1, to - look);
      const shown = await findLast(log, sessionId, keeps, after, to);
      if (shown !== undefined) return shown;
      to = after;
    }
  } catch (error) {
    if (!isLoomError(error, "evicted")) throw error;
    // Pruned meanwhile. What went ended with the end of a run, which is never left out.
    const now = await log.getSession(sessionId);
    if (now?.incarnation !== incarnation || now.firstId > id + 1) throw error;
    return findShownBefore(log, reading, now, id);
  }
  return firstId - 1;
}

async function findLast(
  log: Log,
  sessionId: string,
  keeps: (text: string) => boolean,
  after: number,
  to: number,
): Promise<number | undefined> {
  let last: number | undefined;
  for (let position = after; position < to;) {
    const page = await log.read(sessionId, { after: position, limit: to - position });
    const index = page.texts.findLastIndex(keeps);
    if (index >= 0) last = position + 1 + index;
    if (page.isEmpty) break;
    position = page.lastId;
  }
  return last;
}
