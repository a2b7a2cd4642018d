/**
 * Keeps the prompts of runs readable when earlier runs are pruned. A record of a prompt (`llm_content`) refers to values of
 * earlier records. Before those are deleted, the values that are still needed are copied into carried records: records
 * with the same ID that belong to no run and have gaps in place of other values.
 *
 * Invariants:
 * - A reference is never rewritten. `Log.readCarried` returns the records that references to pruned IDs lead to.
 * - Each value is carried once, and only as long as a kept record refers to it.
 */
import { createRecordReader } from "../dialects/loom/decode.ts";
import type { LlmContentEvent } from "../protocol/events.generated.ts";
import type { StampedRecord } from "../protocol/index.ts";
import { createEntry } from "./entry.ts";
import type { Log, LogEntry, SessionInfo } from "./log.ts";
import { createLoopYield } from "./follow-records.ts";
import type { Page } from "./page.ts";
import { readPages } from "./read-pages.ts";

/** Mark of a text that may be a record of a prompt. */
const CONTENT_MARK = '"llm_content"';
/** An ID of a record in a text: its own, one that it refers to, or one in a value. */
const REFERENCE = /"event_id"\s*:\s*(?<id>[\d.eE+]+)/g;
/** The latest records that a live run may refer to. Model calls that run side by side have different prompts. */
export const MAX_REFERRED = 16;

/** Records read at once. */
const READ_RECORDS = 500;

/** The stored record of a prompt. */
type ContentRecord = StampedRecord & { readonly event: LlmContentEvent };
/** A value of a prompt, or a reference to values of an earlier record. */
export type ContentPart = LlmContentEvent["parts"][number];

/** Part of the values of a record: from `start` to before `end`. */
interface ValueRange {
  readonly start: number;
  readonly end: number;
}

const readRecord = createRecordReader();

function mayReferBefore(text: string, firstId: number): boolean {
  for (const { groups } of text.matchAll(REFERENCE)) if (Number(groups?.["id"]) < firstId) return true;
  return false;
}

/** Returns the record if the text is that of a prompt. */
function readContentRecord(text: string): ContentRecord | undefined {
  if (!text.includes(CONTENT_MARK)) return undefined;
  const record = readRecord(text);
  if (record?.event.type !== "llm_content") return undefined;
  return record as ContentRecord;
}

/** Parses the texts of carried records. */
export function readCarriedTexts(texts: readonly string[]): readonly LogEntry[] {
  return texts.flatMap((text) => {
    const record = readContentRecord(text);
    return record === undefined ? [] : [{ record, text }];
  });
}

/**
 * Collects what the records from `firstId` on need from those before it, oldest first. If `isLive`, a live run may still
 * refer to the latest of those before it, so these are kept too.
 */
export async function collectCarried(
  log: Log,
  info: SessionInfo,
  firstId: number,
  isLive: boolean,
): Promise<readonly LogEntry[]> {
  const earlier = new Map<number, ContentRecord>();
  for (const { record } of await log.readCarried(info.sessionId))
    earlier.set(record.envelope.event_id, record as ContentRecord);
  const ids = [...earlier.keys()];
  for await (const { envelope } of readContents(log, info, info.firstId, firstId - 1)) ids.push(envelope.event_id);
  // Most sessions have no prompts, and what they keep need not be read.
  if (ids.length === 0) return [];
  const needed = new NeededValues();
  for await (const { event } of readContents(log, info, firstId, info.lastId, (text) => mayReferBefore(text, firstId)))
    for (const part of event.parts) needed.addPart(part, firstId);
  if (isLive) for (const id of ids.slice(-MAX_REFERRED)) needed.add(id, { start: 0, end: Infinity });
  const reader = new ContentReader(log, info);
  const yieldToLoop = createLoopYield();
  const carried: LogEntry[] = [];
  // References lead to earlier records, so a record is taken after all that refer to it.
  for (let next = needed.takeLast(); next !== undefined; next = needed.takeLast()) {
    const { id, ranges } = next;
    await yieldToLoop();
    const record = id < info.firstId ? earlier.get(id) : await reader.read(id);
    if (record === undefined) continue;
    const { session_id, event_id, ts } = record.envelope;
    const parts = cutParts(record.event.parts, ranges);
    for (const part of parts) needed.addPart(part, id);
    if (parts.length > 0)
      carried.push(
        createEntry({
          envelope: { session_id, event_id, ...(ts === undefined ? {} : { ts }) },
          event: { ...record.event, parts },
        }),
      );
  }
  return carried.toReversed();
}

/** Reads records from the last to the first, many at a time. */
class ContentReader {
  readonly #log: Log;
  readonly #info: SessionInfo;
  #page: Page | undefined;
  #count = READ_RECORDS;

  constructor(log: Log, info: SessionInfo) {
    this.#log = log;
    this.#info = info;
  }

  /** Reads the record of a prompt; undefined if it is another record. */
  async read(id: number): Promise<ContentRecord | undefined> {
    let page = this.#page;
    if (page === undefined || id <= page.after) {
      const { sessionId, firstId } = this.#info;
      const after = Math.max(firstId - 1, id - this.#count);
      page = await this.#log.read(sessionId, { after, limit: id - after });
      if (page.lastId < id) {
        // Large records: fewer fit into a page.
        this.#count = Math.max(1, page.length);
        page = await this.#log.read(sessionId, { after: id - 1, limit: 1 });
      }
      this.#page = page;
    }
    return readContentRecord(page.texts[id - page.after - 1] ?? "");
  }
}

/** Values that are needed, by record. */
class NeededValues {
  readonly #ranges = new Map<number, ValueRange[]>();
  /** In order. */
  readonly #ids: number[] = [];

  add(id: number, range: ValueRange): void {
    const known = this.#ranges.get(id);
    if (known !== undefined) {
      known.push(range);
      return;
    }
    this.#ranges.set(id, [range]);
    // Most references lead to the record before, so the position is near the end.
    this.#ids.splice(this.#ids.findLastIndex((other) => other < id) + 1, 0, id);
  }

  /** Adds what a part refers to, if that is before record `before`. */
  addPart({ event_id: id, start = 0, count = 0 }: ContentPart, before: number): void {
    if (id !== undefined && id > 0 && id < before && count > 0) this.add(id, { start, end: start + count });
  }

  /** Removes the latest record and returns its ranges in order, without overlaps. */
  takeLast(): { readonly id: number; readonly ranges: readonly ValueRange[] } | undefined {
    const id = this.#ids.pop();
    if (id === undefined) return undefined;
    const merged: ValueRange[] = [];
    for (const range of (this.#ranges.get(id) ?? []).toSorted((a, b) => a.start - b.start)) {
      const last = merged.at(-1);
      if (last === undefined || range.start > last.end) merged.push(range);
      else merged[merged.length - 1] = { start: last.start, end: Math.max(last.end, range.end) };
    }
    return { id, ranges: merged };
  }
}

/** Replaces the values outside of the ranges by gaps: references to record 0, which does not exist. */
function cutParts(parts: readonly ContentPart[], ranges: readonly ValueRange[]): readonly ContentPart[] {
  const kept: ContentPart[] = [];
  const skip = (count: number): void => {
    const last = kept.at(-1);
    if (count === 0) return;
    if (last?.event_id === 0) kept[kept.length - 1] = { event_id: 0, start: 0, count: (last.count ?? 0) + count };
    else kept.push({ event_id: 0, start: 0, count });
  };
  let position = 0;
  let next = 0;
  for (const part of parts) {
    const { event_id, start = 0, count = 0 } = part;
    const end = position + (event_id === undefined ? 1 : count);
    let at = position;
    for (; next < ranges.length; next++) {
      const range = ranges[next] as ValueRange;
      const low = Math.max(at, range.start);
      const high = Math.min(end, range.end);
      if (high > low) {
        skip(low - at);
        kept.push(event_id === undefined ? part : { event_id, start: start + low - position, count: high - low });
        at = high;
      }
      // The range continues in the next part.
      if (range.end > end) break;
    }
    skip(end - at);
    position = end;
  }
  if (kept.at(-1)?.event_id === 0) kept.pop();
  return kept;
}

/** `isWanted` saves parsing the other texts. */
async function* readContents(
  log: Log,
  info: SessionInfo,
  from: number,
  to: number,
  isWanted: (text: string) => boolean = () => true,
): AsyncGenerator<ContentRecord, void, undefined> {
  for await (const { texts } of readPages(log, info, from - 1, to))
    for (const text of texts) {
      if (!text.includes(CONTENT_MARK) || !isWanted(text)) continue;
      const record = readContentRecord(text);
      if (record !== undefined) yield record;
    }
}
