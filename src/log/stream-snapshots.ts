/**
 * Saves the state of a stream's encoder from time to time, and finds the state from which a stream that starts later
 * continues. A resumed stream then reads a limited number of records, however long the run is.
 *
 * Invariants:
 * - A snapshot only saves work: without one, or if it is damaged or was written by another version, the encoder is shown
 *   the run from its start. Nothing here fails a stream.
 * - A snapshot is written after at least `snapshotRecords` records, and a large one only after several times its size
 *   in records, so that snapshots take a fraction of the space and time of the records.
 */
import { createHash } from "node:crypto";
import { deserialize, serialize } from "node:v8";
import {
  type FoundState,
  needsRunHistory,
  type PageEncoder,
  type PageEncoding,
  type SavedPageEncoder,
} from "./encode-page.ts";
import type { Log, SessionInfo } from "./log.ts";
import type { Page } from "./page.ts";

/**
 * Version of the saved states. Increase it with every change of what an encoder, a `StateFold` or `createPageEncoder`
 * saves. Snapshots of other versions are not read, nor are those of another version of the encoder (`ENCODER_VERSIONS`).
 */
export const STATE_VERSION = 7;

/** Snapshots up to this size are written as often as `snapshotRecords` says. */
const SMALL_BYTES = 16 * 1024;
/** Characters of records between two snapshots, per byte of the last one beyond `SMALL_BYTES`. */
const RECORDS_PER_BYTE = 4;

/** The snapshots of one stream. */
export class StreamSnapshots {
  readonly #log: Log;
  readonly #sessionId: string;
  readonly #encoding: PageEncoding;
  readonly #key: string;
  /** Last record of the latest snapshot, or the record before the first that the encoder read. */
  #lastId: number;
  /** Size of the latest snapshot. */
  #size = 0;
  /** Characters of the records since. */
  #characters = 0;

  constructor(log: Log, { sessionId, incarnation, lastId }: SessionInfo, encoding: PageEncoding) {
    this.#log = log;
    this.#sessionId = sessionId;
    this.#encoding = encoding;
    this.#key = keyOf(incarnation, encoding);
    this.#lastId = lastId;
  }

  /** Finds the latest state after record `after`, up to and including `id`. */
  async find(after: number, id: number): Promise<FoundState | undefined> {
    if (id - after < this.#log.limits.snapshotRecords) return undefined;
    try {
      const found = await this.#log.findSnapshot(this.#sessionId, this.#key, id);
      if (found === undefined || found.eventId <= after) return undefined;
      return { eventId: found.eventId, saved: deserialize(found.state) as SavedPageEncoder };
    } catch {
      return undefined;
    }
  }

  /** Starts counting: the encoder has read everything up to `lastId`. */
  start(lastId: number): void {
    this.#lastId = lastId;
  }

  /**
   * Saves the encoder if a snapshot is due; returns undefined if not. Call it when all frames of the page are encoded.
   */
  add(page: Page, encoder: PageEncoder): Promise<void> | undefined {
    this.#characters += page.characters;
    return this.#isDue(page.lastId) ? this.#save(page, encoder) : undefined;
  }

  async #save(page: Page, encoder: PageEncoder): Promise<void> {
    try {
      await this.#findEarlier(page.lastId);
      if (!this.#isDue(page.lastId)) return;
      const saved = encoder.save(page.lastId);
      const state = saved === undefined ? undefined : serialize(saved);
      this.#restart(page.lastId, state?.length ?? 0);
      if (state === undefined || state.length > this.#log.limits.maxSnapshotBytes) return;
      // The stream does not wait for the store.
      this.#log.saveSnapshot(this.#sessionId, { key: this.#key, eventId: page.lastId, state }).catch(() => undefined);
    } catch {
      this.#restart(page.lastId, 0);
    }
  }

  #isDue(id: number): boolean {
    if (id - this.#lastId < this.#log.limits.snapshotRecords) return false;
    return this.#characters >= (this.#size - SMALL_BYTES) * RECORDS_PER_BYTE;
  }

  /** Finds where a stream that starts after `id` can begin to read already: at the start of a run, or a snapshot. */
  async #findEarlier(id: number): Promise<void> {
    if (needsRunHistory(this.#encoding)) {
      const first = await this.#log.findFoldStart(this.#sessionId, id);
      if (first - 1 > this.#lastId) this.#restart(first - 1, 0);
      if (!this.#isDue(id)) return;
    }
    const known = await this.#log.findSnapshot(this.#sessionId, this.#key, id);
    if (known !== undefined && known.eventId > this.#lastId) this.#restart(known.eventId, known.state.length);
  }

  #restart(lastId: number, size: number): void {
    this.#lastId = lastId;
    this.#size = size;
    this.#characters = 0;
  }
}

function keyOf(incarnation: string, { dialect, encoderOptions, modes, version }: PageEncoding): string {
  const options = dialect.options.map((name) => encoderOptions[name] ?? null);
  const form = [dialect.name, options, typeof modes === "object" ? modes.toSorted() : (modes ?? null)];
  const hash = createHash("sha256").update(JSON.stringify([incarnation, form]));
  return `${version}.${STATE_VERSION}.${hash.digest("base64url").slice(0, 22)}`;
}
