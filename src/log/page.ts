/**
 * A row of records as they are stored: one text of `loom` frames, a line each. The records are read from it when
 * somebody asks, once for all who share the page. Live or replayed, they come from the same bytes, so they are the same.
 */
import { createRecordReader } from "../dialects/index.ts";
import { LoomError, type StampedRecord } from "../protocol/index.ts";

const readRecord = createRecordReader();

export class Page {
  readonly sessionId: string;
  /** The id before the first of the page. */
  readonly after: number;
  /** The id of its last record; `after` when it is empty. */
  readonly lastId: number;
  /** Of the session it was read from, where that is known: in memory a name may stand for the session before. */
  readonly incarnation: string | undefined;
  #text: string | undefined;
  #texts: readonly string[] | undefined;
  #records: readonly StampedRecord[] | undefined;

  /** `text` is its frames, one by one or joined by line feeds: as they are at hand. */
  constructor(
    sessionId: string,
    after: number,
    lastId: number,
    text: string | readonly string[],
    incarnation?: string,
  ) {
    this.sessionId = sessionId;
    this.after = after;
    this.lastId = lastId;
    if (typeof text === "string") this.#text = text;
    else this.#texts = text;
    this.incarnation = incarnation;
  }

  /** Frames joined by line feeds, without one at the end. */
  get text(): string {
    this.#text ??= this.#texts?.join("\n") ?? "";
    return this.#text;
  }

  /** Characters of its text. */
  get characters(): number {
    if (this.#text !== undefined || this.#texts === undefined) return this.text.length;
    let sum = Math.max(0, this.#texts.length - 1);
    for (const text of this.#texts) sum += text.length;
    return sum;
  }

  get isEmpty(): boolean {
    return this.lastId === this.after;
  }

  get length(): number {
    return this.lastId - this.after;
  }

  get texts(): readonly string[] {
    this.#texts ??= this.isEmpty ? [] : this.text.split("\n");
    return this.#texts;
  }

  /** Throws `store_corrupt` where a text is no record, or not the one its place asks for, or one is missing. */
  get records(): readonly StampedRecord[] {
    this.#records ??= this.#readAll();
    return this.#records;
  }

  #readAll(): readonly StampedRecord[] {
    const records = this.#parse().map((frame, index) => this.#read(frame, this.after + 1 + index));
    if (records.length !== this.length) throw this.#corrupt(this.after + 1 + Math.min(records.length, this.length));
    return records;
  }

  /** All at once, which is faster; one by one where that fails, to find out which it is. */
  #parse(): readonly unknown[] {
    if (this.isEmpty) return [];
    try {
      return JSON.parse(`[${this.text.replaceAll("\n", ",")}]`) as unknown[];
    } catch {
      return this.texts;
    }
  }

  #read(frame: unknown, id: number): StampedRecord {
    const record = readRecord(frame);
    if (record?.envelope.event_id !== id || record.envelope.session_id !== this.sessionId) throw this.#corrupt(id);
    return record as StampedRecord;
  }

  #corrupt(id: number): LoomError {
    return new LoomError("store_corrupt", `record ${id} of session "${this.sessionId}" cannot be read`, {
      session_id: this.sessionId,
      event_id: id,
    });
  }
}
