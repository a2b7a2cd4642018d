/** What the decoders of client protocols share: records of a frame, the end of a stream, and events about the run. */
import { BoundedMap } from "../protocol/bounded-map.ts";
import type { Json } from "../protocol/index.ts";
import type { Envelope } from "../protocol/events.generated.ts";
import type { AnyEvent, EventRecord } from "../protocol/record.ts";
import type { Issue } from "../protocol/rules.ts";
import type { Decoder } from "./dialect.ts";
import { dropMissing } from "../protocol/drop-undefined.ts";
import { isCount } from "./frame-traits.ts";

/** The text that servers of several APIs send last. */
export const DONE = "[DONE]";

/** Creates a decoder of streams that end with `[DONE]`, which `readDone` reads. `frames` decodes all other texts. */
export function createDoneDecoder(
  frames: Decoder,
  readDone: (issues: Issue[]) => readonly EventRecord[],
  isWaiting = () => false,
): Decoder {
  return {
    decode(text, parsed) {
      if (parsed !== undefined || text.trim() !== DONE) return frames.decode(text, parsed);
      const issues: Issue[] = [];
      return { records: readDone(issues), issues };
    },
    get isWaiting() {
      return isWaiting();
    },
  };
}

/** Puts the events of a frame into records. `first` is the envelope of the first one, unless it has the whole frame. */
export function toRecords(events: readonly AnyEvent[], envelope: Envelope, first: Envelope = envelope): EventRecord[] {
  return events.map((event, index) => ({
    envelope: index === 0 && event.type !== "foreign" ? first : envelope,
    event,
  }));
}

/** `seconds` is the time since 1970, if the frame has it. */
export function createRunStart(runId: string | undefined, seconds?: Json): EventRecord {
  const ts = typeof seconds === "number" && seconds > 0 ? seconds * 1000 : undefined;
  return { envelope: dropMissing({ run_id: runId, ts }), event: dropMissing({ type: "run_start", run_id: runId }) };
}

/** A reason or code that is not a text is left out. */
export function createRunEnd(status: "completed" | "error" | "cancelled", reason?: Json, code?: Json): AnyEvent {
  return dropMissing({
    type: "run_end",
    status,
    reason: typeof reason === "string" ? reason : undefined,
    code: typeof code === "string" ? code : undefined,
  });
}

/** Returns the usage of a run, or no event if a count is missing. */
export function createUsage(prompt_tokens?: Json, completion_tokens?: Json, total?: Json): readonly AnyEvent[] {
  if (!isCount(prompt_tokens) || !isCount(completion_tokens)) return [];
  const total_tokens = isCount(total) ? total : prompt_tokens + completion_tokens;
  return [{ type: "usage", prompt_tokens, completion_tokens, total_tokens }];
}

const MAX_CALLS = 10_000;
/** Events of a call that has started. */
const STARTED: ReadonlySet<unknown> = new Set(["tool_output", "tool_progress", "tool_end"]);

/** Adds the `tool_start` of calls, for dialects that report only the call and its result. */
export class CallStarts {
  readonly #started = new BoundedMap<true>(MAX_CALLS);

  /** Returns the event, after the `tool_start` of its call if it is the first output or result of it. */
  add(event: AnyEvent): readonly AnyEvent[] {
    const { type, call_id, name, error_code, decision } = event as { readonly [field: string]: string | undefined };
    // A call that was rejected or has invalid arguments never starts.
    if (type === "tool_start") this.#started.set(call_id ?? "", true);
    if (type === "tool_approval_result" && decision !== "approved") this.#started.set(call_id ?? "", true);
    if (error_code === "tool_rejected" || error_code === "invalid_arguments") return [event];
    if (!STARTED.has(type) || this.#started.has(call_id ?? "")) return [event];
    this.#started.set(call_id ?? "", true);
    return [dropMissing({ type: "tool_start", call_id, name: name ?? "unknown" }), event];
  }

  has(callId: string): boolean {
    return this.#started.has(callId);
  }

  clear(): void {
    this.#started.clear();
  }
}
