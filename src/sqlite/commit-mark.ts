/**
 * The file `-commits` next to a SQLite file: how many commits the database has at least. SQLite treats a deleted or
 * damaged write-ahead log as empty, so that commits can be missing without an error; a log that was copied into the
 * database is empty as well. Only the number tells the two apart.
 *
 * It is written after each commit, which was synced, and is not synced itself. So it is never ahead of the database. A
 * killed process leaves the exact number; a power failure may leave an older or unreadable one, which proves nothing.
 */
import { closeSync, constants, openSync, readFileSync, rmSync, statSync, writeSync } from "node:fs";
import { LoomError } from "../protocol/loom-error.ts";
import { sealOf } from "./seal.ts";

const { O_RDWR, O_CREAT } = constants;

/** Longer than any content, so that a shorter one leaves no rest of the one before. */
const LENGTH = 80;

export class CommitMark {
  readonly #file: string;
  #handle: number | undefined;

  /** `path` is that of the database. */
  constructor(path: string) {
    this.#file = inodeOf(path);
    try {
      this.#handle = openSync(markOf(path), O_RDWR | O_CREAT, statSync(path).mode & 0o777);
    } catch {
      // A full disk or a read-only folder. Commits matter more than the proof that they existed.
    }
  }

  set(commits: number): void {
    if (this.#handle === undefined) return;
    const values = [this.#file, commits] as const;
    try {
      writeSync(this.#handle, JSON.stringify([...values, sealOf(values)]).padEnd(LENGTH), 0);
    } catch {
      // See above.
    }
  }

  close(): void {
    if (this.#handle !== undefined) closeSync(this.#handle);
    this.#handle = undefined;
  }
}

/**
 * Throws `store_corrupt` if the database has fewer commits than the mark says. `countCommits` opens and closes it. Call it
 * before anything else opens the database: closing one can change its file.
 */
export function assertCommits(path: string, name: string, countCommits: () => number): void {
  const known = readMark(path);
  if (known === 0) return;
  const commits = countCommits();
  if (commits >= known) return;
  // The file may have been changed when it was closed; the next start must find the loss as well.
  const mark = new CommitMark(path);
  mark.set(known);
  mark.close();
  throw new LoomError(
    "store_corrupt",
    `The latest ${known - commits} changes of the ${name} are missing: its write-ahead log was deleted or damaged;` +
      ` restore ${path}-wal, or delete ${markOf(path)} to continue without them`,
    { path, missing: known - commits },
  );
}

/**
 * Returns 0 if nothing is known: there is no mark, it is damaged, it belongs to another file, or the database was changed
 * after it, because a backup was copied over it or the log into it.
 */
function readMark(path: string): number {
  try {
    const mark = markOf(path);
    if (statSync(path, { bigint: true }).ctimeNs > statSync(mark, { bigint: true }).mtimeNs) return 0;
    const [file, commits, seal] = JSON.parse(readFileSync(mark, "utf8")) as [string, number, number];
    return file === inodeOf(path) && seal === sealOf([file, commits]) ? commits : 0;
  } catch {
    return 0;
  }
}

/** Deletes the mark if the last process has closed the database, which then has all commits. */
export function clearCommitMark(path: string): void {
  if (statSync(`${path}-wal`, { throwIfNoEntry: false }) === undefined) removeCommitMark(path);
}

export function removeCommitMark(path: string): void {
  try {
    rmSync(markOf(path), { force: true });
  } catch {
    // It is only a hint.
  }
}

function markOf(path: string): string {
  return `${path}-commits`;
}

/** Without the device, whose number can change when the machine starts. */
function inodeOf(path: string): string {
  return String(statSync(path, { bigint: true }).ino);
}
