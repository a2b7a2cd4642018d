/**
 * Consecutive records as they are stored: `loom` frames, one per line. Records are parsed on demand, once for all
 * readers that share the page. Live and replayed records come from the same bytes, so they are identical.
 */
import { createRecordReader } from "../dialects/loom/decode.ts";
import { LoomError, type StampedRecord } from "../protocol/index.ts";

const readRecord = createRecordReader();

/** A page of consecutive records of one session. */
export class Page {
  readonly sessionId: string;
  /** ID before the first record of the page. */
  readonly after: number;
  /** ID of the last record; `after` if the page is empty. */
  readonly lastId: number;
  /**
   * Incarnation of the session the page was read from, if known. A page in memory may belong to a deleted session of
   * the same ID.
   */
  readonly incarnation: string | undefined;
  #text: string | undefined;
  #texts: readonly string[] | undefined;
  #records: readonly StampedRecord[] | undefined;

  /** `text` contains the frames, as a list or joined by line feeds. @internal */
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

  /** Frames joined by line feeds, without a final line feed. */
  get text(): string {
    this.#text ??= this.#texts?.join("\n") ?? "";
    return this.#text;
  }

  /** Length of `text` in UTF-16 code units. */
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

  /** The parsed records. Throws `store_corrupt` if a text is not a record, has the wrong ID, or is missing. */
  get records(): readonly StampedRecord[] {
    this.#records ??= this.#readAll();
    return this.#records;
  }

  #readAll(): readonly StampedRecord[] {
    const records = this.#parse().map((frame, index) => this.#read(frame, this.after + 1 + index));
    if (records.length !== this.length) throw this.#corrupt(this.after + 1 + Math.min(records.length, this.length));
    return records;
  }

  /** Parses all frames at once, which is faster; if that fails, each is parsed on its own to find the invalid one. */
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
    return new LoomError(
      "store_corrupt",
      `Record ${id} of session "${this.sessionId}" cannot be read; the store is damaged`,
      {
        session_id: this.sessionId,
        event_id: id,
      },
    );
  }
}
