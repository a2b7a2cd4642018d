/** Adds the `tool_start` of calls, for dialects that report only the call and its result. */
import { BoundedMap } from "../protocol/bounded-map.ts";
import type { AnyEvent } from "../protocol/record.ts";
import { dropMissing } from "../protocol/drop-undefined.ts";

const MAX_CALLS = 10_000;
/** Events of a call that has started. */
const STARTED: ReadonlySet<unknown> = new Set(["tool_output", "tool_progress", "tool_end"]);

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
