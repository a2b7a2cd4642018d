/**
 * An audit log in a file: one JSON object per line, synced before it counts as written. When the file is full it is
 * renamed to FILE.1, and FILE.1 to FILE.2. Several processes may append to one file; one of them rotates it, and creates
 * FILE.rotating meanwhile.
 */
import { open, rename, rm, stat } from "node:fs/promises";
import type { AuditEntry } from "./auditor.ts";

export interface AuditFileOptions {
  /** Size at which the file is rotated, in bytes. Default: 16 MiB. */
  readonly maxBytes?: number | undefined;
  /** Number of rotated files to keep. Default: 10. */
  readonly maxFiles?: number | undefined;
}

export const AUDIT_FILE_LIMITS = { maxBytes: 16 * 1024 * 1024, maxFiles: 10 } as const;
const LINE_FEED = 10;
/** Age at which the lock of a rotation counts as left behind by a process that was killed. */
const STALE_MS = 10_000;

export function createAuditFile(path: string, options: AuditFileOptions = {}): (entry: AuditEntry) => Promise<void> {
  const { maxBytes = AUDIT_FILE_LIMITS.maxBytes, maxFiles = AUDIT_FILE_LIMITS.maxFiles } = options;
  let batch: { readonly lines: string[]; readonly written: Promise<void> } | undefined;
  let last: Promise<void> = Promise.resolve();
  const write = async (lines: readonly string[]): Promise<void> => {
    batch = undefined;
    const text = lines.join("");
    const isFull = async (): Promise<boolean> => {
      const size = await sizeOf(path);
      return size > 0 && size + Buffer.byteLength(text) > maxBytes;
    };
    if (await isFull()) await rotate(path, maxFiles, isFull);
    await append(path, text);
  };
  return (entry) => {
    if (batch === undefined) {
      const lines: string[] = [];
      batch = { lines, written: last.then(() => write(lines)) };
      last = batch.written.catch(() => undefined);
    }
    // Entries that arrive during a write share the next one.
    batch.lines.push(`${JSON.stringify(entry)}\n`);
    return batch.written;
  };
}

async function append(path: string, text: string): Promise<void> {
  await using file = await open(path, "a+", 0o600);
  const { size } = await file.stat();
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, Math.max(0, size - 1));
  // A full disk or a crash may have cut the last line.
  const isCut = size > 0 && buffer[0] !== LINE_FEED;
  // One call, so that the lines of several processes do not mix.
  for (let rest = Buffer.from(isCut ? `\n${text}` : text); rest.length > 0;)
    rest = rest.subarray((await file.write(rest)).bytesWritten);
  await file.datasync();
}

/** Does nothing while another process rotates: the lines then go to the end of the file, wherever it is renamed to. */
async function rotate(path: string, maxFiles: number, isFull: () => Promise<boolean>): Promise<void> {
  const lock = `${path}.rotating`;
  if (!(await takeLock(lock))) return;
  try {
    // Another process may have rotated it just before.
    if (await isFull()) await shiftFiles(path, maxFiles);
  } finally {
    await rm(lock, { force: true });
  }
}

async function takeLock(lock: string): Promise<boolean> {
  try {
    await (await open(lock, "wx", 0o600)).close();
    return true;
  } catch {
    const age = Date.now() - ((await stat(lock).catch(ignoreMissing))?.mtimeMs ?? Date.now());
    if (age > STALE_MS) await rm(lock, { force: true });
    return false;
  }
}

async function shiftFiles(path: string, maxFiles: number): Promise<void> {
  if (maxFiles === 0) return rm(path, { force: true });
  for (let number = maxFiles; number > 0; number--)
    await rename(number === 1 ? path : `${path}.${number - 1}`, `${path}.${number}`).catch(ignoreMissing);
}

async function sizeOf(path: string): Promise<number> {
  return (await stat(path).catch(ignoreMissing))?.size ?? 0;
}

function ignoreMissing(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  return undefined;
}
