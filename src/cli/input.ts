/**
 * Reads the frames of an input in batches. It detects the framing and the dialect if they are not given, and rejects
 * input that is not a stream. Memory use does not depend on the size of the input.
 */
import { detectDialect, type Dialect, DIALECT_NAMES, DIALECTS } from "../dialects/index.ts";
import { isDialectName } from "../dialects/dialect.ts";
import { DETECTION_FRAMES } from "../dialects/detect.ts";
import { createNdjsonDecoder, createSseDecoder, type FrameDecoder, type FrameOutcome } from "../framing/index.ts";
import { detectFraming } from "../framing/detect-framing.ts";
import type { FramingOptions } from "../framing/frame.ts";
import type { Issue } from "../protocol/index.ts";
import { CliError, type ParsedCommand, textOption } from "./command.ts";
import { CHUNK_BYTES, inputName, readChunks } from "./read-chunks.ts";
import type { Terminal } from "./terminal.ts";

/** A frame, or the reason why it could not be read. `unended`: the last line, without a line end. */
export type InputFrame = FrameOutcome & { readonly unended?: boolean };

interface InputBatch {
  readonly dialect: Dialect;
  readonly frames: readonly InputFrame[];
}

/** Half of the longest JavaScript string, so that text derived from a line also fits. */
const LONGEST_MAX_LINE = 256 * 1024 * 1024;
export const STREAM_HINT = "a stream is NDJSON or server-sent events";

/**
 * Yields the frames of the input with their dialect. `option` names the dialect option; without a value, the first
 * frames are held back until the dialect is detected. Throws a CliError if the input cannot be read or has no frame.
 */
export async function* readInput(
  parsed: ParsedCommand,
  option: string,
  terminal: Terminal,
): AsyncGenerator<InputBatch> {
  const given = dialectOption(parsed, option);
  const file = parsed.argument ?? "-";
  let dialect = given === "auto" ? undefined : given;
  let held: readonly InputFrame[] = [];
  let isEmpty = true;
  for await (const frames of readFrames(parsed, file, terminal)) {
    if (frames.length === 0) continue;
    isEmpty = false;
    held = held.length === 0 ? frames : [...held, ...frames];
    if (dialect === undefined && held.length < DETECTION_FRAMES) continue;
    dialect ??= detect(held, option);
    yield { dialect, frames: held };
    held = [];
  }
  if (isEmpty) throw new CliError(`no frames in ${inputName(file)}`, STREAM_HINT);
  if (held.length > 0) yield { dialect: detect(held, option), frames: held };
}

async function* readFrames(
  parsed: ParsedCommand,
  file: string,
  terminal: Terminal,
): AsyncGenerator<readonly InputFrame[]> {
  const asked = framingOption(parsed);
  const limit = limitOption(parsed);
  let framing = asked;
  let decoder: FrameDecoder | undefined;
  let head: Uint8Array = new Uint8Array(0);
  const open = (): FrameDecoder => {
    const found = detectFraming(head);
    refuseBinary(head, found !== undefined, file);
    framing ??= found ?? "ndjson";
    return framing === "sse" ? createSseDecoder(limit) : createNdjsonDecoder(limit);
  };
  for await (const chunk of readChunks(file, terminal)) {
    if (decoder !== undefined) {
      yield decoder.push(chunk);
      continue;
    }
    head = head.length === 0 ? chunk : Buffer.concat([head, chunk]);
    if (framing === undefined && head.length < CHUNK_BYTES && detectFraming(head) === undefined) continue;
    decoder = open();
    yield decoder.push(head);
  }
  if (decoder === undefined) {
    decoder = open();
    yield decoder.push(head);
  }
  const last = decoder.end();
  yield framing === "ndjson" ? last.map((frame) => ({ ...frame, unended: true })) : last;
}

/** Reads an option that names a dialect. */
export function dialectOption(parsed: ParsedCommand, option: string): Dialect | "auto" | undefined {
  const name = textOption(parsed, option);
  if (name === undefined || name === "auto") return name;
  if (!isDialectName(name))
    throw new CliError(`unknown dialect \`${name}\``, `choose one of ${DIALECT_NAMES.join(", ")}`);
  return DIALECTS[name];
}

export function framingOption(parsed: ParsedCommand): "ndjson" | "sse" | undefined {
  const name = textOption(parsed, "framing") ?? "auto";
  if (name === "auto") return undefined;
  if (name === "ndjson" || name === "sse") return name;
  throw new CliError(`unknown framing \`${name}\``, "choose one of ndjson, sse, auto");
}

function limitOption(parsed: ParsedCommand): FramingOptions {
  const given = textOption(parsed, "max-line");
  if (given === undefined) return {};
  const maxLineBytes = /^\d+$/.test(given) ? Number(given) : 0;
  if (maxLineBytes >= 1 && maxLineBytes <= LONGEST_MAX_LINE) return { maxLineBytes };
  throw new CliError(`\`--max-line ${given}\` is not a number of bytes from 1 to ${LONGEST_MAX_LINE}`);
}

/**
 * A NUL byte means an image, an archive or UTF-16, and the whole input is rejected. NUL bytes on a later line are left
 * by a crashed writer; only that line is lost.
 */
function refuseBinary(head: Uint8Array, startsLikeStream: boolean, file: string): void {
  const newline = head.indexOf(0x0a);
  const looked = startsLikeStream && newline !== -1 ? head.subarray(0, newline) : head;
  if (!looked.includes(0)) return;
  const isUtf16 = head[0] === 0xff || head[0] === 0xfe || head.subarray(0, 2).includes(0);
  throw new CliError(
    `${inputName(file)} is not UTF-8 text`,
    isUtf16 ? "it looks like UTF-16; save it as UTF-8" : STREAM_HINT,
  );
}

function detect(frames: readonly InputFrame[], option: string): Dialect {
  const found = detectDialect(frames.slice(0, DETECTION_FRAMES).flatMap((frame) => (frame.ok ? [frame.text] : [])));
  if (found !== undefined) return found;
  const [first] = frames as [InputFrame, ...InputFrame[]];
  const why = first.ok ? findFault(first) : first.detail;
  throw new CliError(
    `cannot detect the dialect from line ${first.line}: ${why}`,
    hintFor(first) ?? `name the dialect with \`--${option} D\` (${DIALECT_NAMES.join(", ")})`,
  );
}

/** Explains an undetected frame as a loom frame, the most lenient dialect. */
function findFault(frame: InputFrame & { readonly ok: true }): string {
  const fault = DIALECTS.loom
    .createDecoder()
    .decode(frame.text)
    .issues.find(({ level }) => level === "error");
  return fault === undefined ? "no dialect has such a frame" : explainFault(frame, fault).message;
}

/** Suggests a fix for common causes. */
function hintFor(frame: InputFrame): string | undefined {
  if (!frame.ok) return frame.reason === "line_too_long" ? "allow longer lines with `--max-line BYTES`" : STREAM_HINT;
  const text = frame.text.trim();
  if (/^[[{][[{\s]*$/.test(text)) return "if it is pretty-printed, `jq -c` writes each object on one line";
  if (text.startsWith("[")) return "if it is a JSON array, `jq -c '.[]'` writes each object on one line";
  return text.startsWith("{") ? undefined : STREAM_HINT;
}

/** Returns the issue, with a note if the input ends inside the frame. */
export function explainFault(frame: InputFrame, issue: Issue): Issue {
  const isCut = frame.unended === true && (issue.rule === "frame-json" || issue.rule === "frame-utf8");
  return isCut
    ? { ...issue, message: `${issue.message}; the input ends here, so the stream may be incomplete` }
    : issue;
}
