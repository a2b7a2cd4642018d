/**
 * Messages that the user sent before, over all sessions, newest last. They are kept in a file that only its owner can
 * read: one JSON text per line.
 */
import { appendFileSync, chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

/** Messages kept, and the longest message that is kept. */
const MAX_ENTRIES = 1000;
const MAX_CHARACTERS = 20_000;

export class InputHistory {
  readonly #file: string | undefined;
  readonly #entries: string[];
  /** Position while the user moves through the history; the number of entries: not in the history. */
  #at: number;
  /** What the user was writing before. */
  #draft = "";

  /** Without a file, the history ends with the process. */
  constructor(file?: string) {
    this.#file = file;
    this.#entries = file === undefined ? [] : readEntries(file);
    this.#at = this.#entries.length;
  }

  /** Adds a message. A file that cannot be written is ignored: the history is a convenience. */
  add(text: string): void {
    if (text.trim() !== "" && text.length <= MAX_CHARACTERS && text !== this.#entries.at(-1)) {
      this.#entries.push(text);
      this.#save(text);
    }
    this.leave();
  }

  /** The user no longer moves through the history. */
  leave(): void {
    this.#at = this.#entries.length;
  }

  /** Returns the older (-1) or newer (1) message, or undefined if there is none. */
  move(direction: -1 | 1, current: string): string | undefined {
    const next = this.#at + direction;
    if (next < 0 || next > this.#entries.length) return undefined;
    if (this.#at === this.#entries.length) this.#draft = current;
    this.#at = next;
    return this.#entries[next] ?? this.#draft;
  }

  #save(text: string): void {
    const file = this.#file;
    if (file === undefined) return;
    try {
      mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
      appendFileSync(file, `${JSON.stringify(text)}\n`, { mode: 0o600 });
      if (this.#entries.length <= 2 * MAX_ENTRIES) return;
      this.#entries.splice(0, this.#entries.length - MAX_ENTRIES);
      const lines = this.#entries.map((entry) => `${JSON.stringify(entry)}\n`);
      writeFileSync(`${file}.new`, lines.join(""), { mode: 0o600 });
      renameSync(`${file}.new`, file);
    } catch {
      // The message itself was sent.
    }
  }
}

function readEntries(file: string): string[] {
  try {
    const lines = readFileSync(file, "utf8").split("\n").slice(0, -1);
    chmodSync(file, 0o600);
    return lines.slice(-MAX_ENTRIES).flatMap(readEntry);
  } catch {
    return [];
  }
}

/** A line that another process wrote at the same time may be damaged. */
function readEntry(line: string): readonly string[] {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "string" ? [value] : [];
  } catch {
    return [];
  }
}
