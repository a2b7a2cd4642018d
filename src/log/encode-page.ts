/**
 * The frames of stored records, for one reader: what it asked for, in its dialect, with states whole. It knows no cursor.
 *
 * - Without modes everything comes, except states that are stored as deltas: nobody pays for what they did not ask for.
 * - With modes only their events come, and states are whole.
 * - A `loom` frame whose predecessor was left out says which came before it.
 *
 * Invariant: the frames of a record depend on nothing but the records before it, so whoever begins later gives the same,
 * if it was shown all records since `first` of `Reading`.
 */
import { createRecordReader, type Dialect, DIALECTS, type EncoderOptions } from "../dialects/index.ts";
import {
  type AnyEvent,
  BoundedMap,
  findStreamMode,
  isDelta,
  isLoomError,
  isTerminal,
  StateFold,
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

/** The frames of each record of a page. Pages are to be given in order. */
export type PageEncoder = (page: Page) => readonly (readonly string[])[];

const NOTHING: readonly string[] = [];

/** Runs whose states are held at a time. */
const MAX_LIVE_RUNS = 1000;

/** True where states must be put together: then whoever begins midway must first be shown its run. */
export function needsStates(modes: StreamModes | undefined): boolean {
  return (
    modes === "all" || modes?.some((mode) => mode === "updates" || mode === "values" || mode === "checkpoints") === true
  );
}

/** `shownBefore` is the id of the last record before the first page that was not left out. */
export function createPageEncoder(reading: Reading, shownBefore: number): PageEncoder {
  const { dialect, encoderOptions, modes } = reading;
  const isStored = dialect.name === "loom" && encoderOptions.strict !== true && encoderOptions.envelope !== false;
  const keeps = createFilter(modes);
  const show = needsStates(modes) ? createShow() : undefined;
  if (isStored && show === undefined) return createTextEncoder(modes, shownBefore);
  const own = dialect.createEncoder(encoderOptions);
  const isChained = dialect.name === "loom";
  let last = shownBefore;
  return (page) => {
    const texts = isStored ? page.texts : undefined;
    return page.records.map((record, index) => {
      const event = show === undefined ? record.event : show(record);
      if (!keeps(event)) return NOTHING;
      const { event_id } = record.envelope;
      const prev_event_id = !isChained || last === event_id - 1 ? undefined : last;
      last = event_id;
      if (prev_event_id !== undefined) return own.encode({ envelope: { ...record.envelope, prev_event_id }, event });
      const text = event === record.event ? texts?.[index] : undefined;
      return text === undefined ? own.encode({ envelope: record.envelope, event }) : [text];
    });
  };
}

function createFilter(modes: StreamModes | undefined): (event: AnyEvent) => boolean {
  if (modes === undefined) return (event) => !isDelta(event);
  if (modes === "all") return () => true;
  const wanted = new Set<string>(["always", ...modes]);
  return ({ type }) => wanted.has(findStreamMode(type));
}

/** The event with its state whole. */
function createShow(): (record: StampedRecord) => AnyEvent {
  const folds = new BoundedMap<StateFold>(MAX_LIVE_RUNS);
  return ({ envelope: { run_id = "" }, event }) => {
    const mode = findStreamMode(event.type);
    if (mode === "updates" || mode === "values" || mode === "checkpoints") {
      const fold = folds.getOrCreate(run_id, () => new StateFold());
      fold.add(event);
      return fold.show(event);
    }
    if (isTerminal(event)) folds.delete(run_id);
    return event;
  };
}

const MARK = '"delta"';
const DELTA_END = '"delta":true}';
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

/** `isDelta` of the event. Texts of our own that are one end in it; what others wrote may have it anywhere. */
function isDeltaText(text: string): boolean {
  const isAtEnd = text.endsWith(DELTA_END);
  if (!isAtEnd && !text.includes(MARK)) return false;
  const found = findEvent(text);
  if (found !== undefined) {
    const mayBe = isDelta({ type: found.type, delta: true });
    if (isAtEnd || !mayBe) return mayBe;
  }
  const record = readRecord(text);
  return record !== undefined && isDelta(record.event);
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
