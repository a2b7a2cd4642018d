/**
 * What happened to the appends of all processes of a test, in one file per process, so that it outlives the process:
 *
 * - `ack <session> <epoch> <first ID> <last ID> <checksum>`: the store acknowledged the append.
 * - `late <session> <epoch>`: the store refused it, because another process has taken the session over.
 * - `lost <session> <epoch>`: the store refused to renew the lease for the same reason.
 */
import { closeSync, fstatSync, openSync, readdirSync, readSync, writeSync } from "node:fs";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import type { Log } from "../../src/log/index.ts";
import { isLoomError } from "../../src/protocol/index.ts";

/** Notes the appends of a log in a new file of the folder. */
export function noteAppends(log: Log, folder: string): void {
  const file = openSync(join(folder, `${process.pid}-${Date.now()}`), "a");
  const append = log.append.bind(log);
  log.append = async (batch) => {
    const { sessionId, epoch, expectedLastId, entries } = batch;
    try {
      const result = await append(batch);
      if (entries.length > 0) {
        const sum = checksum(entries.map(({ text }) => text));
        writeSync(file, `ack ${sessionId} ${epoch} ${expectedLastId + 1} ${result.lastId} ${sum}\n`);
      }
      return result;
    } catch (error) {
      if (isLoomError(error, "fenced")) writeSync(file, `late ${sessionId} ${epoch}\n`);
      throw error;
    }
  };
  const renew = log.renew.bind(log);
  log.renew = async (lease, ttlMs) => {
    try {
      return await renew(lease, ttlMs);
    } catch (error) {
      if (isLoomError(error, "fenced")) writeSync(file, `lost ${lease.sessionId} ${lease.epoch}\n`);
      throw error;
    }
  };
  process.on("exit", () => closeSync(file));
}

const checksum = (texts: readonly string[]): number => crc32(texts.join("\n"));

interface AcknowledgedAppend {
  readonly epoch: number;
  readonly firstId: number;
  readonly lastId: number;
  readonly sum: number;
  readonly file: string;
}

/** Reads the notes of all processes. */
export class AckLedger {
  readonly #folder: string;
  /** Bytes of each file that were read. */
  readonly #read = new Map<string, number>();
  readonly #acks = new Map<string, AcknowledgedAppend[]>();
  /** Acknowledged records and refused appends so far. */
  readonly counts = { records: 0, late: 0 };
  readonly #onTaken: (pid: number) => void;

  /** `onTaken` is called with a process that finds out that another one has taken a session over. */
  constructor(folder: string, onTaken: (pid: number) => void) {
    this.#folder = folder;
    this.#onTaken = onTaken;
  }

  /** Reads what is new. */
  update(): void {
    for (const file of readdirSync(this.#folder)) {
      const from = this.#read.get(file) ?? 0;
      const text = readFrom(join(this.#folder, file), from);
      // The last line may be incomplete.
      const length = text.lastIndexOf("\n") + 1;
      this.#read.set(file, from + length);
      for (const line of text.slice(0, length).split("\n")) this.#add(line, file);
    }
  }

  /**
   * Compares the acknowledged appends of a session with its stored records. Throws if one is missing or different, if a
   * record was acknowledged twice, or if an append has an older epoch than one before it: two processes wrote in turn.
   */
  check(session: string, texts: readonly string[]): void {
    this.update();
    const acks = (this.#acks.get(session) ?? []).toSorted((a, b) => a.firstId - b.firstId);
    const files = new Map<number, string>();
    let before = { epoch: 0, lastId: 0 };
    for (const ack of acks) {
      const { epoch, firstId, lastId, sum, file } = ack;
      const what = `append ${firstId}-${lastId} of epoch ${epoch}`;
      if (checksum(texts.slice(firstId - 1, lastId)) !== sum) throw new Error(`the acknowledged ${what} is not stored`);
      if (firstId <= before.lastId) throw new Error(`${what} was acknowledged after one up to ${before.lastId}`);
      if (epoch < before.epoch) throw new Error(`${what} follows an append of epoch ${before.epoch}`);
      if ((files.get(epoch) ?? file) !== file) throw new Error(`${what} has the epoch of another process`);
      files.set(epoch, file);
      before = ack;
    }
    this.#acks.delete(session);
  }

  #add(line: string, file: string): void {
    const [word, session = "", ...numbers] = line.split(" ");
    if (word === "late") this.counts.late++;
    if (word === "late" || word === "lost") this.#onTaken(Number(file.split("-")[0]));
    if (word !== "ack") return;
    const [epoch = 0, firstId = 0, lastId = 0, sum = 0] = numbers.map(Number);
    const acks = this.#acks.get(session) ?? [];
    acks.push({ epoch, firstId, lastId, sum, file });
    this.#acks.set(session, acks);
    this.counts.records += lastId - firstId + 1;
  }
}

/** Reads a file of ASCII characters from a position to its end. */
function readFrom(path: string, position: number): string {
  const file = openSync(path, "r");
  try {
    const bytes = Buffer.alloc(Math.max(0, fstatSync(file).size - position));
    return bytes.toString("latin1", 0, readSync(file, bytes, 0, bytes.length, position));
  } finally {
    closeSync(file);
  }
}
