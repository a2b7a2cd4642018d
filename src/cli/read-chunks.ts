/**
 * Reads a file or standard input as bytes, in constant memory. Shows progress on large files and explains system
 * errors.
 */
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { CliError } from "./command.ts";
import type { Terminal } from "./terminal.ts";

export const CHUNK_BYTES = 256 * 1024;
const PROGRESS_FROM_BYTES = 16 * 1024 * 1024;
const PROGRESS_EVERY_MS = 200;

/** Opening `/dev/stdin` fails if it is a socket, as in child processes of Node; reading standard input works. */
function isStandardInput(file: string): boolean {
  return file === "-" || file === "/dev/stdin";
}

/** Name of the input for messages. */
export function inputName(file: string): string {
  return isStandardInput(file) ? "standard input" : `\`${file}\``;
}

/** Yields the bytes of a file; `-` is standard input. Throws a CliError if it cannot be read. */
export async function* readChunks(file: string, terminal: Terminal): AsyncGenerator<Uint8Array> {
  try {
    if (!isStandardInput(file)) yield* readFile(file, terminal);
    else {
      if (terminal.stdin.isTTY && terminal.errorColumns !== undefined)
        terminal.warn("reading standard input; press Ctrl-D to end it");
      for await (const chunk of terminal.stdin) yield chunk as Uint8Array;
    }
  } catch (error) {
    throw explainSystemError(error, file);
  } finally {
    terminal.progress(undefined);
  }
}

async function* readFile(file: string, terminal: Terminal): AsyncGenerator<Uint8Array> {
  const { size } = await stat(file);
  let read = 0;
  let shownAt = performance.now();
  for await (const chunk of createReadStream(file, { highWaterMark: CHUNK_BYTES })) {
    yield chunk as Uint8Array;
    read += (chunk as Uint8Array).length;
    if (size < PROGRESS_FROM_BYTES || performance.now() - shownAt < PROGRESS_EVERY_MS) continue;
    shownAt = performance.now();
    // The file may grow while it is read.
    const percent = Math.min(100, Math.floor((100 * read) / size));
    terminal.progress(`${percent} % of ${Math.round(size / 1_048_576)} MiB`);
  }
}

const REASONS: { readonly [code: string]: string } = {
  ENOENT: "does not exist",
  ENOTDIR: "does not exist",
  EACCES: "cannot be read (permission denied)",
  EPERM: "cannot be read (permission denied)",
  EISDIR: "is a folder, not a file",
};

/** Only system errors have a code and a syscall; other errors are bugs and stay as they are. */
function explainSystemError(error: unknown, file: string): unknown {
  if (!(error instanceof Error && "code" in error && "syscall" in error)) return error;
  const code = String(error.code);
  return new CliError(`${inputName(file)} ${REASONS[code] ?? `cannot be read (${code})`}`);
}
