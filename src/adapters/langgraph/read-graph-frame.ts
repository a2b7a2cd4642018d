/**
 * Reads the frames of a LangGraph stream. Their shape depends on the stream modes and on `subgraphs`; here they get one
 * shape. It does not know what the modes mean.
 */
import { LoomError } from "../../protocol/index.ts";
import { isJsonObject } from "../../protocol/json.ts";
import { isMessage } from "./langchain-message.ts";

export interface GraphFrame {
  /** Path of the subgraph: a segment `node:task` per level. Empty for the graph itself. */
  readonly ns: readonly string[];
  readonly mode: string;
  readonly data: unknown;
}

const MODES: ReadonlySet<unknown> = new Set([
  "values",
  "updates",
  "messages",
  "custom",
  "checkpoints",
  "tasks",
  "tools",
  "debug",
]);
const DEBUG_TYPES: ReadonlySet<unknown> = new Set(["checkpoint", "task", "task_result"]);

/** `single` is the mode of a stream with one mode, if it is known; otherwise it is derived from the data. */
export function readGraphFrame(raw: unknown, single?: string): GraphFrame {
  if (raw instanceof Uint8Array)
    throw new LoomError(
      "invalid_arguments",
      "A LangGraph stream must have objects, not bytes; open it without encoding",
    );
  if (Array.isArray(raw)) {
    const [first, second, third] = raw as unknown[];
    if (raw.length === 3 && isPath(first) && MODES.has(second)) return { ns: first, mode: String(second), data: third };
    if (raw.length === 2 && MODES.has(first)) return { ns: [], mode: String(first), data: second };
    if (raw.length === 2 && isPath(first)) return { ns: first, mode: single ?? guessMode(second), data: second };
  }
  return { ns: [], mode: single ?? guessMode(raw), data: raw };
}

function isPath(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((segment) => typeof segment === "string");
}

function guessMode(data: unknown): string {
  if (Array.isArray(data)) return data.length === 2 && isMessage(data[0]) ? "messages" : "custom";
  if (!isJsonObject(data)) return "custom";
  const { id, name, event, payload, interrupts, config, next, messages, type } = data;
  if (typeof event === "string" && event.startsWith("on_tool_")) return "tools";
  if (payload !== undefined && DEBUG_TYPES.has(type)) return "debug";
  if (typeof id === "string" && typeof name === "string" && Array.isArray(interrupts)) return "tasks";
  if (config !== undefined && Array.isArray(next)) return "checkpoints";
  if (Array.isArray(messages)) return "values";
  return Object.values(data).every((value) => typeof value === "object") ? "updates" : "custom";
}
