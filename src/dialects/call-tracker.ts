/**
 * Tracks the unfinished tool calls of one run, for dialects that show a call only when its tool starts. The calls are
 * plain data: they are part of the saved state of an encoder.
 */
import type { EventOf, JsonObject } from "../protocol/index.ts";
import { type CallFrame, CallKeys, type CallKeysState, type CallPhase } from "../protocol/call-keys.ts";
import type { StampedEnvelope } from "../protocol/record.ts";

/** An unfinished tool call. */
export interface TrackedCall {
  readonly id: string;
  readonly name: string;
  arguments: JsonObject;
  description: string | undefined;
  /** True once the call was sent with all its arguments. */
  shown: boolean;
  /** True once the call was shown as waiting for approval. */
  wasAsked?: boolean;
  /** When its tool started, if the dialect sends durations. */
  startedAt?: number;
}

/** The unfinished tool calls of one run. */
export class TrackedCalls {
  readonly byKey = new Map<string, TrackedCall>();
  readonly keys: CallKeysState = { open: new Map(), made: 0 };
}

const MAX_OPEN_CALLS = 10_000;

/** Returns the call that a frame belongs to. Beyond the limit, calls are not remembered, so each frame has a new one. */
export function trackCall(
  { byKey, keys }: TrackedCalls,
  event: CallFrame,
  { event_id }: StampedEnvelope,
  phase: CallPhase,
): TrackedCall {
  const key = event.call_id ?? new CallKeys(keys).keyOf(event, phase);
  const known = byKey.get(key);
  if (phase === "end") byKey.delete(key);
  if (known !== undefined) return known;
  const call = {
    id: event.call_id ?? `call-${event_id}`,
    name: event.name ?? "unknown",
    arguments: {},
    description: undefined,
    shown: false,
  };
  if (phase !== "end" && byKey.size < MAX_OPEN_CALLS) byKey.set(key, call);
  return call;
}

/**
 * Returns the call of a piece of arguments; undefined if it was shown with all its arguments, or is unknown and has no
 * name by which it could be shown.
 */
export function trackArguments(
  calls: TrackedCalls,
  event: EventOf<"tool_call_chunk">,
  envelope: StampedEnvelope,
): TrackedCall | undefined {
  const { call_id, name } = event;
  if (call_id === undefined || (name === undefined && !calls.byKey.has(call_id))) return undefined;
  const call = trackCall(calls, event, envelope, "before");
  return call.shown ? undefined : call;
}
