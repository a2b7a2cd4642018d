/**
 * One dialect to another, frame by frame: decode, stamp, encode. What the target cannot carry is counted, by type. States
 * that are held as deltas are put together for a form whose readers know of none.
 */
import { type EventRecord, isKnownEvent, type Issue, RunStates } from "../protocol/index.ts";
import { type Dialect, type EncoderOptions, NO_FRAMES } from "./dialect.ts";
import { createStamper } from "./stamp.ts";

export interface ConvertOptions extends EncoderOptions {
  /** The session of records that name none. */
  readonly session?: string;
}

export interface Converted {
  readonly frames: readonly string[];
  readonly issues: readonly Issue[];
}

export interface StreamConverter {
  convert(text: string): Converted;
  /** How many events of each type the target left out. */
  readonly lost: ReadonlyMap<string, number>;
  /** Records that still wait for a later one. */
  readonly held: number;
  /** Records left out because they belong to no run. */
  readonly dropped: number;
}

export function createStreamConverter(from: Dialect, to: Dialect, options: ConvertOptions = {}): StreamConverter {
  const decoder = from.createDecoder();
  const encoder = to.createEncoder(options);
  const stamp = createStamper(options.session);
  const states = to.name === "export" || options.strict === true ? new RunStates() : undefined;
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
    const event = states === undefined ? record.event : states.show(record);
    if (event === undefined || !isCarried(to, record)) lost.set(type, (lost.get(type) ?? 0) + 1);
    if (event === undefined) return NO_FRAMES;
    return encoder.encode(stamp(event === record.event ? record : { ...record, event }));
  }
}

/** Whether anything of the event arrives in the dialect. */
export function isCarried(dialect: Dialect, { event }: EventRecord): boolean {
  if (!isKnownEvent(event)) return dialect.name === "loom" || dialect.name === "export";
  const row = dialect.ledger[event.type];
  return row.fate !== "omitted" && (event.type === "tool_approval_result" || row.back(event) !== undefined);
}
