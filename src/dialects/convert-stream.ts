/**
 * Converts a stream from one dialect to another, frame by frame: decode, stamp, encode. Events that the target cannot
 * carry are counted by type. State deltas are expanded to full states if receivers of the target do not know deltas.
 */
import { type EventRecord, isKnownEvent, type Issue } from "../protocol/index.ts";
import { RunStates } from "../protocol/run-states.ts";
import { type Dialect, type EncoderOptions, NO_FRAMES } from "./dialect.ts";
import { createStamper } from "./stamp.ts";

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
  const stamp = createStamper(options.session);
  const hasStates = to.ledger.values.support !== "omitted";
  const states = hasStates && (!to.carriesDeltas || options.strict === true) ? new RunStates() : undefined;
  const lost = new Map<string, number>();
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
      if (records.length === 1) return { frames: write(records[0] as EventRecord), issues };
      return { frames: records.flatMap(write), issues };
    },
  };

  function write(record: EventRecord): readonly string[] {
    const { type } = record.event;
    states?.add(record);
    const event = states === undefined ? record.event : states.withFullState(record);
    if (event === undefined || !isCarried(to, record)) lost.set(type, (lost.get(type) ?? 0) + 1);
    if (event === undefined) return NO_FRAMES;
    return encoder.encode(stamp(event === record.event ? record : { ...record, event }));
  }
}

/** True if the dialect carries any part of the event. */
function isCarried(dialect: Dialect, { event }: EventRecord): boolean {
  if (!isKnownEvent(event)) return dialect.carriesUnknown;
  const row = dialect.ledger[event.type];
  return row.support !== "omitted" && (event.type === "tool_approval_result" || row.roundTrip(event) !== undefined);
}
