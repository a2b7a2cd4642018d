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

export interface InputBatch {
  readonly dialect: Dialect;
  readonly frames: readonly InputFrame[];
}

/** More is no text any more: a string of JavaScript holds about twice as much. */
const MOST_LINE_BYTES = 256 * 1024 * 1024;
const STREAM_HINT = "a stream is one JSON object per line, or server-sent events";

/**
 * `option` is the one that names the dialect; frames are held back until it is known. Throws a CliError when the input
 * cannot be read, or has no frame.
 */
export async function* readInput(
  parsed: ParsedCommand,
  option: string,
  terminal: Terminal,
): AsyncGenerator<InputBatch> {
  const given = dialectOption(parsed, option);
  let dialect = given === "auto" ? undefined : given;
  const file = parsed.argument ?? "-";
  let held: readonly InputFrame[] = [];
  for await (const frames of readFrames(parsed, file, terminal)) {
    held = held.length === 0 ? frames : [...held, ...frames];
    if (held.length === 0 || (dialect === undefined && held.length < DETECTION_FRAMES)) continue;
    dialect ??= detect(held, option);
    yield { dialect, frames: held };
    held = [];
  }
  if (held.length > 0) yield { dialect: dialect ?? detect(held, option), frames: held };
  else if (dialect === undefined || given === dialect)
    throw new CliError(`there is no frame in ${inputName(file)}`, STREAM_HINT);
}

async function* readFrames(
  parsed: ParsedCommand,
  file: string,
  terminal: Terminal,
): AsyncGenerator<readonly InputFrame[]> {
  const asked = textOption(parsed, "framing") ?? "auto";
  const options = readLimit(parsed);
  const decoder = asked === "auto" ? undefined : createDecoder(asked, options);
  const framing = asked;
  let head: Uint8Array | undefined;
  const start = (name: string) => {};
}
