/**
 * Limits tool results to the size of one record, because a node writes them as one event. Small results stay complete;
 * large ones share the remaining space and are marked as cut.
 */
import { Buffer } from "node:buffer";
import type { ToolResultPart } from "../models/model.ts";

/** Maximum bytes of all results of one round, as JSON. An event has at most 1 MiB. */
const MAX_RESULT_BYTES = 700 * 1024;

export function fitResults(
  parts: readonly ToolResultPart[],
  maxBytes: number = MAX_RESULT_BYTES,
): readonly ToolResultPart[] {
  const sizes = parts.map(measure);
  if (sum(sizes) <= maxBytes) return parts;
  const share = findShare(sizes, maxBytes);
  return parts.map((part, index) => ((sizes[index] ?? 0) <= share ? part : cutResult(part, share)));
}

/** Bytes that each result may have. Results that need less leave the rest to the others. */
function findShare(sizes: readonly number[], maxBytes: number): number {
  let room = maxBytes;
  let left = sizes.length;
  for (const size of sizes.toSorted((a, b) => a - b)) {
    if (size > room / left) break;
    room -= size;
    left--;
  }
  return Math.floor(room / Math.max(1, left));
}

function cutResult(part: ToolResultPart, maxBytes: number): ToolResultPart {
  const { output } = part;
  const text = output.type === "json" ? JSON.stringify(output.value) : output.value;
  const type = output.type === "error-text" ? "error-text" : "text";
  let kept = text;
  for (let fitted = part; ;) {
    const size = measure(fitted);
    if (size <= maxBytes || kept === "") return fitted;
    // Characters differ in bytes, so aim slightly lower and measure again.
    kept = text.slice(0, Math.floor(kept.length * Math.min(0.9, (maxBytes / size) * 0.95)));
    const value = `${kept.toWellFormed()}\n[cut off: ${kept.length} of ${text.length} characters; the results of all tools are too large]`;
    fitted = { ...part, output: { type, value } };
  }
}

function measure(part: ToolResultPart): number {
  return Buffer.byteLength(JSON.stringify(part));
}

function sum(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0);
}
