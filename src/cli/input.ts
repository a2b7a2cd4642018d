/**
 * The frames of the input, in batches, and the dialect they are in. Finds the framing and the dialect where they were
 * not given, and refuses what is plainly no stream. Memory does not grow with the input.
 */
import { type Dialect, DETECTION_FRAMES, detectDialect, DIALECT_NAMES, DIALECTS } from "../dialects/index.ts";
import {
  createNdjsonDecoder,
  createSseDecoder,
  detectFraming,
  type FrameDecoder,
  type FrameOutcome,
  type FramingOptions,
} from "../framing/index.ts";
import type { Issue } from "../protocol/index.ts";
import { CliError, type ParsedCommand, textOption } from "./command.ts";
import { dialectOption } from "./dialect-option.ts";
import { CHUNK_BYTES, inputName, readChunks } from "./read-chunks.ts";
import type { Terminal } from "./terminal.ts";

/** A frame, or why there is none. `unended`: the last line of the input, and no line end follows. */
export type InputFrame = FrameOutcome & { readonly unended?: boolean };

interface InputBatch {
  readonly dialect: Dialect;
  readonly frames: readonly InputFrame[];
}

/** Half of what a string of JavaScript can hold, so that what is made of a line fits one too. */
const LONGEST_MAX_LINE = 256 * 1024 * 1024;
const STREAM_HINT = "a stream is one JSON object per line, or server-sent events";

/**
 * `option` is the one that names the dialect; without it the first frames are held back until they tell. Throws a
 * CliError when the input cannot be read, or has no frame.
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
  if (isEmpty) throw new CliError(`there is no frame in ${inputName(file)}`, STREAM_HINT);
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

function framingOption(parsed: ParsedCommand): "ndjson" | "sse" | undefined {
  const name = textOption(parsed, "framing") ?? "auto";
  if (name === "auto") return undefined;
  if (name === "ndjson" || name === "sse") return name;
  throw new CliError(`there is no framing \`${name}\``, "choose one of ndjson, sse, auto");
}

function limitOption(parsed: ParsedCommand): FramingOptions {
  const given = textOption(parsed, "max-line");
  if (given === undefined) return {};
  const maxLineBytes = /^\d+$/.test(given) ? Number(given) : 0;
  if (maxLineBytes >= 1 && maxLineBytes <= LONGEST_MAX_LINE) return { maxLineBytes };
  throw new CliError(`\`--max-line ${given}\` is not a number of bytes from 1 to ${LONGEST_MAX_LINE}`);
}

/**
 * No JSON text holds a NUL byte; files that do are images, archives or UTF-16. A later line of them is another matter:
 * a writer that crashed leaves one, and only that line is lost.
 */
function refuseBinary(head: Uint8Array, startsLikeStream: boolean, file: string): void {
  const newline = head.indexOf(0x0a);
  const looked = startsLikeStream && newline !== -1 ? head.subarray(0, newline) : head;
  if (!looked.includes(0)) return;
  const isUtf16 = head[0] === 0xff || head[0] === 0xfe || head.subarray(0, 2).includes(0);
  throw new CliError(
    `${inputName(file)} is not text in UTF-8`,
    isUtf16 ? "it looks like UTF-16: save it as UTF-8" : STREAM_HINT,
  );
}

function detect(frames: readonly InputFrame[], option: string): Dialect {
  const found = detectDialect(frames.slice(0, DETECTION_FRAMES).flatMap((frame) => (frame.ok ? [frame.text] : [])));
  if (found !== undefined) return found;
  const [first] = frames as [InputFrame, ...InputFrame[]];
  const why = first.ok ? findFault(first) : first.detail;
  throw new CliError(
    `the dialect cannot be told from line ${first.line}: ${why}`,
    hintFor(first) ?? `to read it all the same, say which it is: \`--${option} D\` (${DIALECT_NAMES.join(", ")})`,
  );
}

/** Why a frame that no dialect claims is none of loom's, the most lenient of them. */
function findFault(frame: InputFrame & { readonly ok: true }): string {
  const fault = DIALECTS.loom
    .createDecoder()
    .decode(frame.text)
    .issues.find(({ level }) => level === "error");
  return fault === undefined ? "no dialect has a frame like it" : explainFault(frame, fault).message;
}

/** What usually went wrong where not even the first line is a frame. */
function hintFor(frame: InputFrame): string | undefined {
  if (!frame.ok) return frame.reason === "line_too_long" ? "`--max-line BYTES` lets longer lines in" : STREAM_HINT;
  const text = frame.text.trim();
  if (/^[[{][[{\s]*$/.test(text)) return "is it pretty-printed? `jq -c` writes each object on one line";
  if (text.startsWith("[")) return "is it one JSON array? `jq -c '.[]'` writes each of its objects on one line";
  return text.startsWith("{") ? undefined : STREAM_HINT;
}

/** The issue; where the input ends in the frame that has it, this is said too. */
export function explainFault(frame: InputFrame, issue: Issue): Issue {
  const isCut = frame.unended === true && (issue.rule === "frame-json" || issue.rule === "frame-utf8");
  return isCut ? { ...issue, message: `${issue.message}; the input ends in this line: was the stream cut?` } : issue;
}
