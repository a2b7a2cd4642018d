/**
 * One session as it is observed: which of its runs are shown, how far each has been shown, and what is read from the log
 * where a run is first met in its middle.
 *
 * Invariants:
 * - Each record is shown once, in order, whoever brings it and how often: several may feed one watch.
 * - It holds no records. While a run's past is being read, what is committed meanwhile is read from the log as well.
 */
import { followRecords } from "../log/follow-records.ts";
import type { Log, LogEntry } from "../log/log.ts";
import { BoundedMap, isTerminal, LoomError, type StampedRecord } from "../protocol/index.ts";
import type { Audience, RunAudience } from "./audience.ts";

/** Live runs of one session; beyond that the oldest is let go of. A session has one, unless it was left in disorder. */
const MAX_LIVE_RUNS = 1000;

interface RunWatch {
  readonly runId: string;
  readonly audience: RunAudience;
  /** The id of the first record that was met: what lies before it is past. */
  readonly firstMet: number;
  /** The id of the last record that was met. */
  lastMet: number;
  /** Its records come from the log for now, not from the commit. */
  isReading: boolean;
  /** To be closed as soon as it is read. */
  isLeft: boolean;
}

export interface SessionWatchHost {
  readonly log: Log;
  readonly sessionId: string;
  readonly audience: Audience;
  /** Told of readings, so that somebody can wait for them. */
  onReading(reading: Promise<void>): void;
}

export class SessionWatch {
  readonly #host: SessionWatchHost;
  readonly #runs = new BoundedMap<RunWatch>(MAX_LIVE_RUNS, (run) => this.#leave(run));
  /** Those who feed it all there is. */
  readonly #taps = new Set<object>();
  /** Runs that are watched by themselves, and by how many. */
  readonly #watched = new Map<string, number>();
  #runless: RunAudience | undefined;
  #lastId = 0;

  constructor(host: SessionWatchHost) {
    this.#host = host;
  }

  get isUnused(): boolean {
    return this.#taps.size === 0 && this.#watched.size === 0;
  }

  addTap(tap: object): void {
    this.#taps.add(tap);
  }

  removeTap(tap: object): void {
    if (!this.#taps.delete(tap) || this.#taps.size > 0) return;
    this.#runless?.close(true);
    this.#runless = undefined;
    for (const run of this.#runs.values()) if (!this.#watched.has(run.runId)) this.#leave(run);
  }

  addRun(runId: string): void {
    this.#watched.set(runId, (this.#watched.get(runId) ?? 0) + 1);
  }

  removeRun(runId: string): void {
    const left = (this.#watched.get(runId) ?? 0) - 1;
    if (left > 0) {
      this.#watched.set(runId, left);
      return;
    }
    this.#watched.delete(runId);
    const run = this.#runs.get(runId);
    if (run !== undefined && this.#taps.size === 0) this.#leave(run);
  }

  /** Lets go of everything. */
  end(): void {
    this.#watched.clear();
    this.#taps.clear();
    this.#runless?.close(true);
    this.#runless = undefined;
    for (const run of this.#runs.values()) this.#leave(run);
  }

  take(entries: readonly LogEntry[]): void {
    for (const { record } of entries) {
      const { event_id: id, run_id: runId } = record.envelope;
      if (id <= this.#lastId) continue;
      this.#lastId = id;
      if (this.#taps.size === 0 && (runId === undefined || !this.#watched.has(runId))) continue;
      if (runId === undefined) this.#openRunless().take(record, false);
      else this.#takeOfRun(runId, record, id);
    }
  }

  #takeOfRun(runId: string, record: StampedRecord, id: number): void {
    const run = this.#runs.get(runId) ?? this.#meet(runId, record, id);
    run.lastMet = id;
    if (run.isReading) return;
    run.audience.take(record, false);
    if (isTerminal(record.event)) this.#close(run, false);
  }

  #openRunless(): RunAudience {
    const { audience, sessionId } = this.#host;
    this.#runless ??= audience.openRun({ sessionId, runId: undefined });
    return this.#runless;
  }

  #meet(runId: string, { event }: StampedRecord, id: number): RunWatch {
    const { audience, sessionId } = this.#host;
    const isReading = event.type !== "run_start";
    const run: RunWatch = {
      runId,
      audience: audience.openRun({ sessionId, runId }),
      firstMet: id,
      lastMet: id,
      isReading,
      isLeft: false,
    };
    this.#runs.set(runId, run);
    if (isReading) this.#host.onReading(this.#read(run));
    return run;
  }

  /** Shows the run from its beginning, until the log has no more of it than was met. Never rejects. */
  async #read(run: RunWatch): Promise<void> {
    const { log, sessionId, audience } = this.#host;
    let isOver = false;
    try {
      const info = await log.getRun(sessionId, run.runId);
      let position = (info?.firstId ?? run.firstMet) - 1;
      while (position < run.lastMet) {
        const from = position;
        for await (const { records } of followRecords(log, sessionId, { after: position })) {
          for (const record of records) {
            const { event_id: id, run_id } = record.envelope;
            // What is durable but was not met yet comes with its commit.
            if (id > run.lastMet) break;
            position = id;
            if (run_id !== run.runId) continue;
            run.audience.take(record, id < run.firstMet);
            isOver = isTerminal(record.event);
          }
          if (position >= run.lastMet) break;
        }
        if (position === from)
          throw new LoomError("store_failed", `record ${run.lastMet} of session "${sessionId}" cannot be found`);
      }
    } catch (error) {
      audience.report(error);
      run.isLeft = true;
    }
    run.isReading = false;
    if (isOver || run.isLeft) this.#close(run, !isOver);
  }

  #leave(run: RunWatch): void {
    if (run.isReading) run.isLeft = true;
    else this.#close(run, true);
  }

  #close(run: RunWatch, isLeft: boolean): void {
    // Another of the same name may have taken its place meanwhile.
    if (this.#runs.get(run.runId) === run) this.#runs.delete(run.runId);
    run.audience.close(isLeft);
  }
}
