/**
 * Reads a file or standard input as bytes, in constant memory; shows progress on large files, and turns what the
 * system says into a message for people.
 */
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { CliError } from "./command.ts";
import type { Terminal } from "./terminal.ts";

export const CHUNK_BYTES = 256 * 1024;
const PROGRESS_FROM_BYTES = 16 * 1024 * 1024;
const PROGRESS_EVERY_MS = 200;

/** Opening `/dev/stdin` fails where standard input is a socket, as it is for children of Node; reading it does not. */
function isStandardInput(file: string): boolean {
  return file === "-" || file === "/dev/stdin";
}

/** What people call the input. */
export function inputName(file: string): string {
  return isStandardInput(file) ? "standard input" : `\`${file}\``;
}

/** `-` is standard input. Throws a CliError when the input cannot be read. */
export async function* readChunks(file: string, terminal: Terminal): AsyncGenerator<Uint8Array> {
  try {
    if (!isStandardInput(file)) yield* readFile(file, terminal);
    else {
      if (terminal.stdin.isTTY && terminal.errorColumns !== undefined)
        terminal.warn("reading standard input; Ctrl-D ends it");
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
  EACCES: "may not be read",
  EPERM: "may not be read",
  EISDIR: "is a folder, not a file",
};

/** Errors of the system carry a code and the name of the call; all else is a fault of Loom and stays what it is. */
function explainSystemError(error: unknown, file: string): unknown {
  if (!(error instanceof Error && "code" in error && "syscall" in error)) return error;
  const code = String(error.code);
  return new CliError(`${inputName(file)} ${REASONS[code] ?? `cannot be read (${code})`}`);
}
