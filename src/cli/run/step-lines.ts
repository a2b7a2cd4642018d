/** What a run does, in lines: tools that are called and what they gave, errors, and how it ended. It writes nothing. */
import { type AnyEvent, BoundedMap, type EventOf, type JsonObject } from "../../protocol/index.ts";
import { plural } from "../fit-text.ts";
import { formatDuration, type Note } from "./format-note.ts";

/** Where something happens within a search. */
export interface Place {
  readonly indent: number;
  /** The node of the graph. */
  readonly name: string | undefined;
}

/** Calls that were made and have not started. */
const MAX_CALLS = 1000;

export class StepLines {
  readonly #inputs = new BoundedMap<JsonObject>(MAX_CALLS);

  /** Undefined where there is nothing to say. */
  describe(event: AnyEvent, place: Place | undefined): Note | undefined {
    switch (event.type) {
      case "tool_call": {
        const { call_id = "", arguments: input } = event as EventOf<"tool_call">;
        this.#inputs.set(call_id, input);
        return undefined;
      }
      case "tool_approval_result":
        return this.#describeDecision(event as EventOf<"tool_approval_result">, place);
      case "tool_start": {
        const { call_id = "", name } = event as EventOf<"tool_start">;
        const input = this.#inputs.get(call_id) ?? {};
        this.#inputs.delete(call_id);
        return { style: "cyan", sign: "→", ...nameIn(place, name), text: JSON.stringify(input) };
      }
      case "tool_end": {
        const { call_id = "", name, result, is_error, duration_ms } = event as EventOf<"tool_end">;
        this.#inputs.delete(call_id);
        const end = duration_ms === undefined ? "" : `(${formatDuration(duration_ms)})`;
        const [style, sign] = is_error ? (["red", "✗"] as const) : (["green", "←"] as const);
        return { style, sign, ...nameIn(place, name), text: result, end };
      }
      case "retrieval_complete": {
        const { doc_count, sources = [] } = event as EventOf<"retrieval_complete">;
        const titles = sources.map(({ title, ref }) => (ref === undefined ? title : `[${ref}] ${title}`)).join(", ");
        return { style: "cyan", sign: "≡", ...nameIn(place, plural(doc_count, "passage")), text: titles };
      }
      case "error": {
        const { message, code, call_id } = event as EventOf<"error">;
        // What went wrong in a tool was told as its result.
        if (call_id !== undefined) return undefined;
        const end = code === undefined ? "" : `(${code})`;
        return { style: "red", sign: "✗", ...nameIn(place, "error"), text: message, end };
      }
      default:
        return undefined;
    }
  }

  #describeDecision(
    { call_id = "", name = "", decision, arguments: input }: EventOf<"tool_approval_result">,
    place: Place | undefined,
  ): Note | undefined {
    if (input !== undefined) this.#inputs.set(call_id, input);
    // Of any other decision the call's result tells.
    if (decision !== "approved") return undefined;
    const text = input === undefined ? decision : `${decision}, edited`;
    return { style: "green", sign: "✓", ...nameIn(place, name), text };
  }
}

/** What a tool at work says: it is there until the next. Undefined for other events. */
export function describePassing(event: AnyEvent): string | undefined {
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

/** What happens in a node of the graph names the node, and stands under it. */
function nameIn(place: Place | undefined, name: string): Pick<Note, "name" | "indent"> {
  if (place === undefined) return { name };
  return { name: place.name === undefined ? name : `${place.name} › ${name}`, indent: place.indent };
}
