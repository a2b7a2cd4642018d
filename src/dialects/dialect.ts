/**
 * The dialect interface: a decoder from frames to records, an encoder from records to frames, and a ledger of how each
 * event type is represented. A frame is one JSON text; how frames are split from bytes is the job of the framing.
 *
 * Invariants:
 * - Decoders and encoders hold state per stream, within fixed limits.
 * - A decoder never throws on input. A frame it cannot read gives an issue and no record, and does not affect later
 *   frames.
 * - An encoder uses only the records: no clock, no randomness, no look-ahead. The same records give the same bytes.
 */
import type { EventRecord, EventType, Issue, JsonObject, StampedRecord } from "../protocol/index.ts";
import type { Rule, RuleTable } from "../protocol/rules.ts";
import type { Shape } from "../protocol/schema.ts";
import type { FrameTraits } from "./frame-traits.ts";
import type { LedgerEntry } from "./ledger.ts";

/** Names of all dialects. The compiler then requires an entry in `decoders.ts`, `index.ts` and `load-dialect.ts`. */
export const DIALECT_NAMES = [
  "loom",
  "export",
  "engine",
  "lumine",
  "stream-event",
  "ai-sdk",
  "ag-ui",
  "openai-responses",
  "openai-chat",
] as const;

/** Name of a dialect. */
export type DialectName = (typeof DIALECT_NAMES)[number];

/** True for the name of a dialect. */
export function isDialectName(name: string): name is DialectName {
  return (DIALECT_NAMES as readonly string[]).includes(name);
}

/** Dialects whose frames are not distinguished by `type`, and the field that distinguishes them. */
export const FRAME_TAG_FIELDS: { readonly [N in DialectName]?: string } = { "openai-chat": "object" };

/** The records of a frame, and the rules it breaks. */
export interface Decoded {
  readonly records: readonly EventRecord[];
  readonly issues: readonly Issue[];
}

/** Decodes the frames of one stream. */
export interface Decoder {
  /** Decodes one frame. `parsed` is the same frame, if the caller has already parsed it. */
  decode(text: string, parsed?: JsonObject): Decoded;
  /** True if the stream may end here although a run has not: the run waits for an answer. */
  readonly isWaiting?: boolean;
}

/** Encodes the records of one stream. */
export interface Encoder {
  /** Returns the frames of a record in order: usually one, sometimes none. */
  encode(record: StampedRecord): readonly string[];
  /**
   * Number of records that the dialect can only send after a later record. Ends of runs that wait for their reply do not
   * count.
   */
  readonly held?: number;
  /** Number of records dropped because they belong to no run, in a dialect that cannot carry them. */
  readonly dropped?: number;
  /**
   * Returns the state from which another encoder with the same options continues, see `createEncoder`. It can be cloned
   * (`structuredClone`) and changes with the next record, so clone or serialize it at once. Absent if frames do not
   * depend on earlier records.
   */
  save?(): unknown;
  /** Returns a text that the saved state left out and that the frames of `record` need. Add it before `encode`. */
  findMissingText?(record: StampedRecord): MissingText | undefined;
}

/** The beginning of an answer that is not part of a saved state: it is as long as the run. */
export interface MissingText {
  readonly runId: string | undefined;
  readonly nodeId: string | undefined;
  /** The record with the first piece. */
  readonly fromId: number;
  /** Number of characters: pieces of the answer of this node run, from `fromId` on. */
  readonly length: number;
  add(text: string): void;
}

/** Options of an encoder. A dialect ignores those that are not in its `options`. */
export interface EncoderOptions {
  /**
   * `loom` and `export` only: for receivers that know only the 23 types of 001. Extension types are sent as `custom`,
   * and every event of 001 has the fields that 001 requires and no others. Streams of a log then include graph states.
   * Default: false.
   */
  readonly strict?: boolean;
  /** `loom` only: include the envelope. Default: true. */
  readonly envelope?: boolean;
  /**
   * `lumine` only: send records outside a request immediately. By default they wait for the next request, as 004
   * requires.
   */
  readonly follow?: boolean;
  /** `engine` only: send `details.stack_trace`. For servers in debug mode. Default: false. */
  readonly debug?: boolean;
  /**
   * `engine` only: send times in seconds instead of milliseconds, for clients that read them as in the examples of 003.
   * Default: milliseconds.
   */
  readonly timestamps?: "milliseconds" | "seconds";
  /**
   * `ag-ui` only: for clients before version 1.0. They refuse the outcome `cancelled`, so a cancelled run ends with
   * `RUN_ERROR`. Default: false.
   */
  readonly legacy?: boolean;
  /**
   * `ai-sdk` only: the major version of the package `ai` that reads the stream. 6: what 6 and all of 7 accept; 5: what 5
   * accepts, without approvals; 7: also what 7 accepts since 7.0.112. Default: 6.
   */
  readonly version?: number;
}

/** The decoding part of a dialect; all that a receiver needs. */
export interface Decoding {
  createDecoder(): Decoder;
  /** Rates how certainly a parsed frame belongs to this dialect: 0 not at all, 1 by its tag, 2 by tag and fields. */
  confidence(frame: { readonly [key: string]: unknown }): 0 | 1 | 2;
  /** How a receiver assigns frames to sessions and orders them before it decodes them. */
  readonly traits: FrameTraits;
}

/** Decoding parts by dialect name, of all or some dialects. */
export type Decoders = { readonly [N in DialectName]?: Decoding };

/** A dialect: one representation of the events on the wire. */
export interface Dialect extends Decoding {
  readonly name: DialectName;
  /** Title of the specification. */
  readonly title: string;
  /** Creates an encoder. `saved` is the state of an encoder with the same options that this one continues. */
  createEncoder(options?: EncoderOptions, saved?: unknown): Encoder;
  /** Options that its encoder takes. */
  readonly options: readonly (keyof EncoderOptions)[];
  /**
   * True if a record's frames depend on earlier records. A reader that starts in the middle of a run then needs the run
   * from its start.
   */
  readonly isStateful: boolean;
  /** True if it carries events of unknown types. */
  readonly carriesUnknown: boolean;
  /**
   * True if its receivers can apply state deltas. For others, states are sent in full. If it is stateful, its encoder
   * receives all state events of a run as they are stored, and writes its own deltas.
   */
  readonly carriesDeltas: boolean;
  /** How each event type is represented. */
  readonly ledger: { readonly [T in EventType]: LedgerEntry };
  /** Rules of this dialect, in addition to those for frames and life cycles. */
  readonly rules: RuleTable;
  /** The rule that is broken by a stream that ends during a run. */
  readonly unendedRule: { readonly name: string; readonly rule: Rule };
  /** Life-cycle rules that do not apply: the dialect has no envelope, or its own rule for the same fault. */
  readonly ignoredRules: readonly string[];
  /** Frame declarations by tag, for schemas and documentation; undefined if frames are derived from the events. */
  readonly frames: { readonly [tag: string]: Shape } | undefined;
  /** Creates the JSON Schema of each frame by tag. Default: from `frames`. */
  createSchemas?(): { readonly [tag: string]: JsonObject };
}

export const NO_FRAMES: readonly string[] = [];
