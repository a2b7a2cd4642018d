/**
 * Reads a file or standard input as batches of frames: finds the framing, refuses what is plainly not text, and shows
 * progress on large files. Memory does not grow with the input.
 */
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import {
  type Dialect,
  DETECTION_FRAMES,
  detectDialect,
  DIALECT_NAMES,
  DIALECTS,
  isDialectName,
} from "../dialects/index.ts";
import {
  createNdjsonDecoder,
  createSseDecoder,
  detectFraming,
  type FrameDecoder,
  type FrameOutcome,
} from "../framing/index.ts";
import { CliError, type ParsedCommand, textOption } from "./command.ts";
import type { Terminal } from "./terminal.ts";

const CHUNK_BYTES = 256 * 1024;
const PROGRESS_FROM_BYTES = 16 * 1024 * 1024;
const PROGRESS_EVERY_MS = 200;

/** The frames of the input, in batches. Throws a CliError when it cannot be read. */
export async function* readInput(parsed: ParsedCommand, terminal: Terminal): AsyncGenerator<readonly FrameOutcome[]> {
  const name = parsed.argument ?? "-";
  const maxLineBytes = readMaxLine(parsed);
  let decoder: FrameDecoder | undefined = createDecoder(textOption(parsed, "framing") ?? "auto", maxLineBytes);
  let head: Uint8Array | undefined;
  for await (const chunk of readChunks(name, terminal)) {
    if (decoder !== undefined) {
      if (head === undefined) refuseBinary(chunk, name);
      head ??= chunk;
      yield decoder.push(chunk);
      continue;
    }
    const seen: Uint8Array = head === undefined ? chunk : Buffer.concat([head, chunk]);
    refuseBinary(seen, name);
    const framing = detectFraming(seen);
    if (framing === undefined && seen.length < CHUNK_BYTES) {
      head = seen;
      continue;
    }
    decoder = createDecoder(framing ?? "ndjson", maxLineBytes) as FrameDecoder;
    yield decoder.push(seen);
  }
  if (decoder === undefined && head !== undefined) {
    decoder = createDecoder(detectFraming(head) ?? "ndjson", maxLineBytes) as FrameDecoder;
    yield decoder.push(head);
  }
  if (decoder !== undefined) yield decoder.end();
}

function createDecoder(framing: string, maxLineBytes: number | undefined): FrameDecoder | undefined {
  const options = maxLineBytes === undefined ? {} : { maxLineBytes };
  if (framing === "auto") return undefined;
  if (framing === "ndjson") return createNdjsonDecoder(options);
  if (framing === "sse") return createSseDecoder(options);
  throw new CliError(`there is no framing \`${framing}\``, "choose ndjson, sse or auto");
}

function readMaxLine(parsed: ParsedCommand): number | undefined {
  const given = textOption(parsed, "max-line");
  if (given === undefined) return undefined;
  const bytes = Number(given);
  if (!Number.isSafeInteger(bytes) || bytes < 1) throw new CliError(`\`--max-line ${given}\` is not a number of bytes`);
  return bytes;
}

async function* readChunks(name: string, terminal: Terminal): AsyncGenerator<Uint8Array> {
  if (name === "-") {
    for await (const chunk of terminal.stdin) yield chunk as Uint8Array;
    return;
  }
  let size = 0;
  try {
    const file = await stat(name);
    if (file.isDirectory()) throw new CliError(`\`${name}\` is a folder, not a file`);
    size = file.size;
    let read = 0;
    let shownAt = 0;
    for await (const chunk of createReadStream(name, { highWaterMark: CHUNK_BYTES })) {
      yield chunk as Uint8Array;
      read += (chunk as Uint8Array).length;
      if (terminal.showsProgress && size >= PROGRESS_FROM_BYTES && performance.now() - shownAt > PROGRESS_EVERY_MS) {
        shownAt = performance.now();
        terminal.progress(`  ${Math.floor((100 * read) / size)} % of ${Math.round(size / 1_048_576)} MiB`);
      }
    }
    terminal.progress(undefined);
  } catch (error) {
    throw asCliError(error, name);
  }
}

const REASONS: { readonly [code: string]: string } = {
  ENOENT: "does not exist",
  EACCES: "may not be read",
  EISDIR: "is a folder, not a file",
  EPERM: "may not be read",
};

function asCliError(error: unknown, name: string): unknown {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const reason = REASONS[code];
  return reason === undefined ? error : new CliError(`\`${name}\` ${reason}`);
}

/** No JSON text holds a NUL byte; files that do are images, archives or UTF-16. */
function refuseBinary(bytes: Uint8Array, name: string): void {
  if (!bytes.subarray(0, CHUNK_BYTES).includes(0)) return;
  throw new CliError(
    `${name === "-" ? "standard input" : `\`${name}\``} is not text in UTF-8`,
    "a stream is one JSON object per line, or server-sent events",
  );
}

export function dialectOption(parsed: ParsedCommand, option: string): Dialect | "auto" | undefined {
  const name = textOption(parsed, option);
  if (name === undefined || name === "auto") return name;
  if (!isDialectName(name))
    throw new CliError(`there is no dialect \`${name}\``, `choose one of ${DIALECT_NAMES.join(", ")}`);
  return DIALECTS[name];
}

/**
 * Frames together with the dialect they are in: given, or found from the first ones, which are held back until then.
 */
export async function* readDialect(
  batches: AsyncIterable<readonly FrameOutcome[]>,
  given: Dialect | undefined,
): AsyncGenerator<{ readonly dialect: Dialect; readonly outcomes: readonly FrameOutcome[] }> {
  let dialect = given;
  let held: FrameOutcome[] = [];
  for await (const outcomes of batches) {
    if (dialect !== undefined) {
      yield { dialect, outcomes };
      continue;
    }
    held.push(...outcomes);
    if (held.length < DETECTION_FRAMES) continue;
    dialect = detect(held);
    yield { dialect, outcomes: held };
    held = [];
  }
  if (held.length > 0) yield { dialect: dialect ?? detect(held), outcomes: held };
}

function detect(outcomes: readonly FrameOutcome[]): Dialect {
  const found = detectDialect(outcomes.flatMap((outcome) => (outcome.ok ? [outcome.text] : [])));
  if (found !== undefined) return found;
  const line = outcomes.find((outcome) => outcome.ok)?.line;
  throw new CliError(
    line === undefined
      ? "no frame could be read"
      : `the dialect cannot be told from the first frames (line ${line} on)`,
    `say which it is: ${DIALECT_NAMES.join(", ")}`,
  );
}
