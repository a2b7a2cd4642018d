/** Formats the steps of a run as lines: tool calls and results, retrievals, errors, and the end. */
import type { AnyEvent, EventOf, JsonObject } from "../../protocol/index.ts";
import { BoundedMap } from "../../protocol/bounded-map.ts";
import { plural } from "../fit-text.ts";
import { formatDuration, type Note } from "./format-note.ts";

/** Position of a step within a search. */
export interface StepPosition {
  readonly indent: number;
  /** Id of the graph node. */
  readonly name: string | undefined;
}

/** Calls kept until they start. */
const MAX_CALLS = 1000;

export class StepLines {
  readonly #inputs = new BoundedMap<JsonObject>(MAX_CALLS);

  /** Returns undefined for events that are not shown. */
  describe(event: AnyEvent, position: StepPosition | undefined): Note | undefined {
    switch (event.type) {
      case "tool_call": {
        const { call_id = "", arguments: input } = event as EventOf<"tool_call">;
        this.#inputs.set(call_id, input);
        return undefined;
      }
      case "tool_approval_result":
        return this.#describeDecision(event as EventOf<"tool_approval_result">, position);
      case "tool_start": {
        const { call_id = "", name, executor } = event as EventOf<"tool_start">;
        const input = this.#inputs.get(call_id) ?? {};
        this.#inputs.delete(call_id);
        const end = executor === "client" ? "(waiting for the client)" : "";
        return { style: "cyan", sign: "→", ...nameStep(position, name), text: JSON.stringify(input), end };
      }
      case "tool_end": {
        const { call_id = "", name, result, is_error, duration_ms } = event as EventOf<"tool_end">;
        this.#inputs.delete(call_id);
        const end = duration_ms === undefined ? "" : `(${formatDuration(duration_ms)})`;
        const [style, sign] = is_error ? (["red", "✗"] as const) : (["green", "←"] as const);
        return { style, sign, ...nameStep(position, name), text: result, end };
      }
      case "retrieval_complete": {
        const { doc_count, sources = [] } = event as EventOf<"retrieval_complete">;
        const titles = sources.map(({ title, ref }) => (ref === undefined ? title : `[${ref}] ${title}`)).join(", ");
        return { style: "cyan", sign: "≡", ...nameStep(position, plural(doc_count, "passage")), text: titles };
      }
      case "error": {
        const { message, code, call_id } = event as EventOf<"error">;
        // The error of a tool call is shown with its result.
        if (call_id !== undefined) return undefined;
        const end = code === undefined ? "" : `(${code})`;
        return { style: "red", sign: "✗", ...nameStep(position, "error"), text: message, end };
      }
      default:
        return undefined;
    }
  }

  #describeDecision(
    { call_id = "", name = "", decision, arguments: input }: EventOf<"tool_approval_result">,
    position: StepPosition | undefined,
  ): Note | undefined {
    if (input !== undefined) this.#inputs.set(call_id, input);
    // Other decisions are shown with the result of the call.
    if (decision !== "approved") return undefined;
    const text = input === undefined ? decision : `${decision}, edited`;
    return { style: "green", sign: "✓", ...nameStep(position, name), text };
  }
}

/** Formats tool output and progress, each of which replaces the one before. Returns undefined for other events. */
export function describeTransient(event: AnyEvent): string | undefined {
  if (event.type === "tool_output") {
    const { name, content } = event as EventOf<"tool_output">;
    return `${name} ${content.trim().split("\n").at(-1) ?? ""}`;
  }
  if (event.type !== "tool_progress") return undefined;
  const { name = "", progress, message = "" } = event as EventOf<"tool_progress">;
  return `${name} ${Math.round(progress)} % ${message}`;
}

export function describeEnd({ status, summary = {} }: EventOf<"run_end">): string {
  const { duration_ms, tool_calls = 0, total_tokens = 0 } = summary;
  const parts = [
    duration_ms === undefined ? status : `${status} in ${formatDuration(duration_ms)}`,
    ...(tool_calls > 0 ? [plural(tool_calls, "tool call")] : []),
    ...(total_tokens > 0 ? [plural(total_tokens, "token")] : []),
  ];
  return parts.join(", ");
}

/** Within a graph, the step is indented and named after its node. */
function nameStep(position: StepPosition | undefined, name: string): Pick<Note, "name" | "indent"> {
  if (position === undefined) return { name };
  return { name: position.name === undefined ? name : `${position.name} › ${name}`, indent: position.indent };
}
