/**
 * Consecutive records as they are stored: `loom` frames, one per line. Records are parsed on demand, once for all
 * readers that use them at the same time; only the pages that were parsed last keep them. Live and replayed
 * records come from the same bytes, so they are identical.
 */
import { createRecordReader } from "../dialects/loom/decode.ts";
import { LoomError, type StampedRecord } from "../protocol/index.ts";
import { measureText } from "./measure-text.ts";
import { TextChunkReader } from "./text-chunks.ts";

const readRecord = createRecordReader();

/** Approximate memory of a page without its texts, and of each record in its list of texts. */
const PAGE_BYTES = 320;
const RECORD_BYTES = 48;

/**
 * Maximum characters of the pages that keep their parsed records, which take several times the memory of their text. The
 * page parsed last always keeps them.
 */
const MAX_PARSED_CHARACTERS = 256 * 1024;

const NO_RECORDS: readonly StampedRecord[] = [];

/** A page of consecutive records of one session. */
export class Page {
  /** Pages that keep their parsed records, the oldest first. */
  static readonly #parsed: Page[] = [];
  static #parsedCharacters = 0;

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
  #heldBytes: number | undefined;

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

  /** Length of `text` in UTF-16 code units. @internal */
  get characters(): number {
    if (this.#text !== undefined || this.#texts === undefined) return this.text.length;
    let sum = Math.max(0, this.#texts.length - 1);
    for (const text of this.#texts) sum += text.length;
    return sum;
  }

  /** Approximate memory of the page in bytes, as it was created. @internal */
  get heldBytes(): number {
    // A list of texts is also joined when a reader needs the whole text.
    this.#heldBytes ??=
      PAGE_BYTES +
      RECORD_BYTES * this.length +
      (this.#text === undefined
        ? 2 * (this.#texts ?? []).reduce((sum, text) => sum + measureText(text), 0)
        : measureText(this.#text));
    return this.#heldBytes;
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
    // Empty pages have no characters, so any number of them would be kept.
    if (this.isEmpty) return NO_RECORDS;
    if (this.#records === undefined) {
      this.#records = this.#readAll();
      Page.#parsedCharacters += this.characters;
      Page.#parsed.push(this);
      while (Page.#parsedCharacters > MAX_PARSED_CHARACTERS && Page.#parsed.length > 1) Page.#forgetOldest();
    }
    return this.#records;
  }

  static #forgetOldest(): void {
    const oldest = Page.#parsed.shift();
    if (oldest === undefined) return;
    // A weak reference instead would keep the records until the end of the turn, and all pages of a long turn with it.
    oldest.#records = undefined;
    Page.#parsedCharacters -= oldest.characters;
  }

  #readAll(): readonly StampedRecord[] {
    const { texts, after, length } = this;
    const chunks = new TextChunkReader();
    const records: StampedRecord[] = [];
    for (const text of texts) {
      const id = after + 1 + records.length;
      let record = chunks.read(text, id);
      if (record === undefined) {
        record = this.#read(text, id);
        if (id < this.lastId) chunks.learn(text, record);
      }
      records.push(record);
    }
    if (records.length !== length) throw this.#corrupt(after + 1 + Math.min(records.length, length));
    return records;
  }

  #read(text: string, id: number): StampedRecord {
    const record = readRecord(text);
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
