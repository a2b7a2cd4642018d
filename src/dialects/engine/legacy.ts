/**
 * The old types of 003 §6 and their new ones. Old senders put the payload into `data` or beside `type`, and under
 * various names; what comes out has the names of the new types.
 */
import { isJsonObject, type Json, type JsonObject, toJsonObject } from "../../protocol/json.ts";
import type { EngineFrameType } from "./frames.ts";

export interface LegacyPayload {
  readonly type: EngineFrameType;
  readonly data: JsonObject;
  /** `final_answer`: the text stands for all that was gathered before. */
  readonly replaces?: true;
}

/** Gives ids to calls that old senders left without one; a result without an id answers the oldest open call. */
export class LegacyCalls {
  readonly #open: string[] = [];
  #made = 0;

  start(id: Json | undefined): string {
    const known = (typeof id === "string" && id) || `legacy-${++this.#made}`;
    if (this.#open.length < 1000) this.#open.push(known);
    return known;
  }

  end(id: Json | undefined): string {
    const known = (typeof id === "string" && id) || (this.#open[0] ?? `legacy-${++this.#made}`);
    const at = this.#open.indexOf(known);
    if (at >= 0) this.#open.splice(at, 1);
    return known;
  }
}

/** The first of several names under which old senders put a value. */
function pick(payload: JsonObject, ...names: string[]): Json | undefined {
  for (const name of names) if (payload[name] != null) return payload[name];
  return undefined;
}

function text(value: Json | undefined): Json {
  return value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value);
}

function pickText(payload: JsonObject, ...names: string[]): Json {
  return text(pick(payload, ...names));
}

function pickId(payload: JsonObject): Json | undefined {
  return pick(payload, "tool_id", "tool_call_id", "id");
}

function objectOrNull(value: Json | undefined): JsonObject | null {
  return isJsonObject(value) ? value : null;
}

/** Arguments were sometimes sent as JSON within JSON. */
function object(value: Json | undefined): JsonObject {
  try {
    return toJsonObject(typeof value === "string" ? JSON.parse(value) : value);
  } catch {
    return {};
  }
}

const LEGACY: { readonly [type: string]: (payload: JsonObject, calls: LegacyCalls) => LegacyPayload } = {
  token: (payload) => ({ type: "content", data: { content: pickText(payload, "content", "token", "text") } }),
  final_answer: (payload) => ({
    type: "content",
    data: { content: pickText(payload, "content", "answer", "final_answer", "text") },
    replaces: true,
  }),
  tool_call: (payload, calls) => ({
    type: "tool_call_start",
    data: {
      tool_id: calls.start(pickId(payload)),
      tool_name: pick(payload, "tool_name", "name", "tool") ?? null,
      arguments: object(pick(payload, "arguments", "args", "tool_args", "input")),
      description: payload["description"] ?? null,
    },
  }),
  tool_result: (payload, calls) => {
    const tool_id = calls.end(pickId(payload));
    const error = pick(payload, "error");
    if (error !== undefined || payload["status"] === "failed" || payload["status"] === "error") {
      const message = text(isJsonObject(error) ? error["message"] : (error ?? pick(payload, "message", "content")));
      return { type: "tool_call_end", data: { tool_id, status: "failed", error: { message } } };
    }
    const result = pick(payload, "result", "content", "output");
    const wrapped =
      result === undefined
        ? null
        : (objectOrNull(result) ?? { [typeof result === "string" ? "content" : "value"]: result });
    return { type: "tool_call_end", data: { tool_id, status: "success", result: wrapped } };
  },
  dataframe_data: (payload) => {
    const metadata = objectOrNull(payload["metadata"]);
    return { type: "data", data: { data_type: "dataframe", data: objectOrNull(payload["data"]) ?? payload, metadata } };
  },
  done: (payload) => ({
    type: "session_end",
    data: { status: "completed", summary: objectOrNull(payload["summary"]) },
  }),
};

export function isLegacyType(type: string): boolean {
  return Object.hasOwn(LEGACY, type);
}

/** The payload of a type that is known here; `flat` says that it stood beside `type`. What is new already stays. */
export function translateLegacy(type: string, payload: JsonObject, flat: boolean, calls: LegacyCalls): LegacyPayload {
  const data = type === "error" && flat ? completeError(payload) : payload;
  return LEGACY[type]?.(payload, calls) ?? { type: type as EngineFrameType, data };
}

/** Old `error` messages name no class. */
function completeError(payload: JsonObject): JsonObject {
  const message = pickText(payload, "message", "error", "content");
  return { error_type: "system", recoverable: false, ...payload, message };
}
