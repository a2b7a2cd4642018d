/**
 * Limits texts and tool results to a size, such as that of a record or a prompt. Small ones stay complete; large ones
 * share the remaining space and are marked as cut.
 */
import { Buffer } from "node:buffer";
import type { ToolResultPart } from "../models/model.ts";

/** Maximum bytes of all results of one round, as JSON. An event has at most 1 MiB. */
const MAX_RESULT_BYTES = 700 * 1024;

/** Limits the tool results that a node writes as one event. */
export function fitResults(
  parts: readonly ToolResultPart[],
  maxBytes: number = MAX_RESULT_BYTES,
): readonly ToolResultPart[] {
  const sizes = parts.map(measure);
  const share = findShare(sizes, maxBytes);
  return parts.map((part, index) => ((sizes[index] ?? 0) <= share ? part : cutResult(part, share)));
}

/** Shortens texts so that together they have at most this many characters. */
export function fitTexts(texts: readonly string[], maxCharacters: number): readonly string[] {
  const sizes = texts.map(({ length }) => length);
  const share = findShare(sizes, maxCharacters);
  return texts.map((text) => (text.length <= share ? text : cutWithNote(text, share)));
}

/** The size that each may have; `Infinity` if all fit. Those that need less leave the rest to the others. */
function findShare(sizes: readonly number[], size: number): number {
  let room = size;
  let left = sizes.length;
  for (const one of sizes.toSorted((a, b) => a - b)) {
    if (one > room / left) return Math.floor(room / left);
    room -= one;
    left--;
  }
  return Infinity;
}

/** Keeps the beginning, with a note if there is room for it. */
function cutWithNote(text: string, maxCharacters: number): string {
  const note = `\n[cut off: too long, ${text.length} characters in total]`;
  if (note.length >= maxCharacters) return text.slice(0, maxCharacters).toWellFormed();
  return text.slice(0, maxCharacters - note.length).toWellFormed() + note;
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
