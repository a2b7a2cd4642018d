/**
 * The old types of 003 §6 and their new ones. Old senders put the payload into `data` or beside `type`, and under
 * various names; what comes out has the names of the new types.
 */
import { isJsonObject, type Json, type JsonObject } from "../../protocol/index.ts";
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
    const known = typeof id === "string" && id !== "" ? id : `legacy-${++this.#made}`;
    if (this.#open.length < 1000) this.#open.push(known);
    return known;
  }

  end(id: Json | undefined): string {
    const known = typeof id === "string" && id !== "" ? id : (this.#open[0] ?? `legacy-${++this.#made}`);
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

/** Arguments were sometimes sent as JSON within JSON. */
function object(value: Json | undefined): JsonObject {
  if (isJsonObject(value)) return value;
  if (typeof value !== "string") return {};
  try {
    const inner: unknown = JSON.parse(value);
    return isJsonObject(inner) ? inner : {};
  } catch {
    return {};
  }
}

const LEGACY: { readonly [type: string]: (payload: JsonObject, calls: LegacyCalls) => LegacyPayload } = {
  token: (payload) => ({ type: "content", data: { content: text(pick(payload, "content", "token", "text")) } }),
  final_answer: (payload) => ({
    type: "content",
    data: { content: text(pick(payload, "content", "answer", "final_answer", "text")) },
    replaces: true,
  }),
  tool_call: (payload, calls) => ({
    type: "tool_call_start",
    data: {
      tool_id: calls.start(pick(payload, "tool_id", "tool_call_id", "id")),
      tool_name: pick(payload, "tool_name", "name", "tool") ?? null,
      arguments: object(pick(payload, "arguments", "args", "tool_args", "input")),
      ...(payload["description"] == null ? {} : { description: payload["description"] }),
    },
  }),
  tool_result: (payload, calls) => {
    const tool_id = calls.end(pick(payload, "tool_id", "tool_call_id", "id"));
    const error = pick(payload, "error");
    if (error !== undefined || payload["status"] === "failed" || payload["status"] === "error") {
      const message = isJsonObject(error) ? text(error["message"]) : text(error ?? pick(payload, "message", "content"));
      return { type: "tool_call_end", data: { tool_id, status: "failed", error: { message } } };
    }
    const result = pick(payload, "result", "content", "output");
    const wrapped =
      result === undefined
        ? {}
        : {
            result: isJsonObject(result)
              ? result
              : typeof result === "string"
                ? { content: result }
                : { value: result },
          };
    return { type: "tool_call_end", data: { tool_id, status: "success", ...wrapped } };
  },
  dataframe_data: (payload) => {
    const inner = payload["data"];
    const metadata = isJsonObject(payload["metadata"]) ? { metadata: payload["metadata"] } : {};
    return { type: "data", data: { data_type: "dataframe", data: isJsonObject(inner) ? inner : payload, ...metadata } };
  },
  done: (payload) => ({
    type: "session_end",
    data: { status: "completed", ...(isJsonObject(payload["summary"]) ? { summary: payload["summary"] } : {}) },
  }),
};

export function isLegacyType(type: string): boolean {
  return Object.hasOwn(LEGACY, type);
}

export function translateLegacy(type: string, payload: JsonObject, calls: LegacyCalls): LegacyPayload | undefined {
  return LEGACY[type]?.(payload, calls);
}

/** Old `error` messages name no class. */
export function completeLegacyError(payload: JsonObject): JsonObject {
  const message = text(pick(payload, "message", "error", "content"));
  return { error_type: "system", recoverable: false, ...payload, message };
}
