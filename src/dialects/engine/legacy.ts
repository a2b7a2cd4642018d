/**
 * Converts the legacy types of 003 §6 to current ones. Legacy senders put the payload in `data` or next to `type`,
 * under various names; the result uses the current names.
 */
import { isJsonObject, type Json, type JsonObject, parseJson, toJsonObject } from "../../protocol/json.ts";
import type { EngineFrameType } from "./frames.ts";

/** A message with a type that 003 §6 replaces. Its payload is in `data` or next to `type`. */
export interface LegacyEngineFrame {
  readonly type: "token" | "tool_call" | "tool_result" | "final_answer" | "dataframe_data" | "done";
  readonly [field: string]: Json | undefined;
}

export interface LegacyPayload {
  readonly type: EngineFrameType;
  readonly data: JsonObject;
  /** For `final_answer`: the text replaces what was streamed before. */
  readonly replaces?: true;
}

/** Further calls are not remembered; a result without an ID then gets a new one. */
const MAX_OPEN_CALLS = 1000;

/** Assigns IDs to calls without one. A result without an ID belongs to the oldest open call. */
export class LegacyCalls {
  readonly #open: string[] = [];
  #made = 0;

  start(id: Json | undefined): string {
    const callId = (typeof id === "string" && id) || `legacy-${++this.#made}`;
    if (this.#open.length < MAX_OPEN_CALLS) this.#open.push(callId);
    return callId;
  }

  end(id: Json | undefined): string {
    const callId = (typeof id === "string" && id) || (this.#open[0] ?? `legacy-${++this.#made}`);
    const at = this.#open.indexOf(callId);
    if (at >= 0) this.#open.splice(at, 1);
    return callId;
  }
}

/** Returns the first of these fields that is present. */
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

/** Some legacy senders encode the arguments as a JSON string. */
function object(value: Json | undefined): JsonObject {
  return toJsonObject(typeof value === "string" ? parseJson(value) : value);
}

/** Types whose payload may be a bare text in `data`. */
const TEXT_TYPES: ReadonlySet<string> = new Set(["token", "final_answer", "thinking", "error", "tool_result"]);

const LEGACY: {
  readonly [type in LegacyEngineFrame["type"]]: (payload: JsonObject, calls: LegacyCalls) => LegacyPayload;
} = {
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

export function isLegacyType(type: string): type is LegacyEngineFrame["type"] {
  return Object.hasOwn(LEGACY, type);
}

/**
 * Converts the payload of a known type. `flat` is true if it was next to `type`. Of current types, only a bare text and
 * flat errors are changed.
 */
export function translateLegacy(type: string, payload: JsonObject, flat: boolean, calls: LegacyCalls): LegacyPayload {
  const { data: bare } = payload;
  const given = flat && typeof bare === "string" && TEXT_TYPES.has(type) ? { content: bare, ...payload } : payload;
  if (isLegacyType(type)) return LEGACY[type](given, calls);
  return { type: type as EngineFrameType, data: type === "error" && flat ? completeError(given) : given };
}

/** Legacy `error` messages have no error type. */
function completeError(payload: JsonObject): JsonObject {
  const message = pickText(payload, "message", "error", "content");
  return { error_type: "system", recoverable: false, ...payload, message };
}
