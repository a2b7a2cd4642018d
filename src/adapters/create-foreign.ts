/** Keeps what a framework reports and this protocol has no event for. */
import type { Json } from "../protocol/index.ts";
import { parseJson } from "../protocol/json.ts";
import type { SourceEvent } from "./source.ts";

/** An event has at most 1 MiB; the rest is for its envelope. */
const MAX_FRAME_BYTES = 1_000_000;

/**
 * Creates a `foreign` event with a frame of a framework. A frame that is too large, or is not JSON, is replaced with one
 * that says what was left out.
 */
export function createForeign(framework: string, frame: unknown): SourceEvent {
  return { type: "foreign", dialect: framework, frame: limitFrame(frame) };
}

function limitFrame(frame: unknown): Json {
  const { type } = Object(frame) as { readonly type?: unknown };
  const what = typeof type === "string" ? { type: type.slice(0, 200) } : {};
  const text = stringify(frame);
  if (text === undefined) return { ...what, omitted: "not JSON" };
  const bytes = Buffer.byteLength(text);
  return bytes > MAX_FRAME_BYTES ? { ...what, omitted: "too large", bytes } : (parseJson(text) as Json);
}

function stringify(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}
