/**
 * The contract of a wire dialect: a decoder from frames to records, an encoder from records to frames, and a ledger
 * that says what becomes of every event type. A frame is one JSON text; how frames are cut from bytes is not known here.
 *
 * Invariants:
 * - Decoders and encoders keep state per stream and hold no more than their limits allow.
 * - A decoder never throws on input. A frame it cannot read gives an issue and no record, and harms nothing after it.
 * - An encoder acts only on a record: no clock, no randomness, no look-ahead. The same records give the same bytes.
 */
import type {
  EventRecord,
  EventType,
  Issue,
  JsonObject,
  Rule,
  RuleTable,
  Shape,
  StampedRecord,
} from "../protocol/index.ts";
import type { Fate } from "./ledger.ts";

export type DialectName = "loom" | "export" | "engine" | "lumine" | "stream-event";

export interface Decoded {
  readonly records: readonly EventRecord[];
  readonly issues: readonly Issue[];
}

export interface Decoder {
  /** Takes the text of one frame; `parsed` is the same frame, where the caller has parsed it already. */
  decode(text: string, parsed?: JsonObject): Decoded;
}

export interface Encoder {
  /** The frames this record gives rise to, in order; often one, sometimes none. */
  encode(record: StampedRecord): readonly string[];
  /** Records that wait for a later one before they may be sent. */
  readonly held?: number;
  /** Records left out because they belong to no run, where the dialect has no place for such. */
  readonly dropped?: number;
}

/** Many records at once, as NDJSON bytes: what a server writes in one go. */
export interface BatchEncoder {
  encode(records: readonly StampedRecord[]): Uint8Array;
}

export interface EncoderOptions {
  /** loom only: types of ours travel as `custom`, for receivers that know the 23 types alone. */
  readonly strict?: boolean;
  /** loom only: false leaves the envelope out. */
  readonly envelope?: boolean;
  /** lumine only: send what happens outside a request at once; otherwise it waits for the next request, as 004 asks. */
  readonly follow?: boolean;
  /** engine only: send `details.stack_trace`. Off unless the server runs in debug mode. */
  readonly debug?: boolean;
}

/** The half of a dialect a receiver needs. */
export interface Decoding {
  createDecoder(): Decoder;
  /** How surely a parsed frame is of this dialect: 0 not, 1 by its tag, 2 by its tag and fields. */
  claim(frame: { readonly [key: string]: unknown }): 0 | 1 | 2;
}

export interface Dialect extends Decoding {
  readonly name: DialectName;
  /** Name of the specification. */
  readonly title: string;
  createEncoder(options?: EncoderOptions): Encoder;
  /** A faster way to the same bytes, where there is one. */
  createBatchEncoder?(options?: EncoderOptions): BatchEncoder;
  /** Whether a record's frames depend on those before it: then one who begins midway must first be shown its run. */
  readonly folds: boolean;
  /** What becomes of each event type. */
  readonly ledger: { readonly [T in EventType]: Fate };
  /** Rules of this wire beyond those of frames and life cycles. */
  readonly rules: RuleTable;
  /** The rule a stream breaks that stops while a run is going. */
  readonly unended: { readonly name: string; readonly rule: Rule };
  /** Rules of the `loom` wire that say nothing new of this one: it has no envelope, or a rule of its own for the same. */
  readonly unsaid: readonly string[];
  /** The frames, for schemas: tag to shape. Absent where they follow from the events mechanically. */
  readonly frames?: { readonly [tag: string]: Shape };
}

export const NO_FRAMES: readonly string[] = [];
