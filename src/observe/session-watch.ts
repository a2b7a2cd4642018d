/**
 * Observes one session: decides which runs are observed, tracks how far each was observed, and reads the start of a run
 * from the log if it is first seen in the middle.
 *
 * Invariants:
 * - Each record is passed once, in order.
 * - It stores no records. While the past of a run is being read, newly committed records are read from the log too.
 */
import { followRecords } from "../log/follow-records.ts";
import type { Log, LogEntry } from "../log/log.ts";
import { LoomError, type StampedRecord } from "../protocol/index.ts";
import { BoundedMap } from "../protocol/bounded-map.ts";
import { isTerminal } from "../protocol/record.ts";
import type { ObserverGroup, LiveSource, RunObservers } from "./observer-group.ts";
import { createRecordCompleter } from "./complete-records.ts";

/** Maximum live runs of one session; beyond that the oldest is released. Normally a session has one. */
const MAX_LIVE_RUNS = 1000;

interface RunWatch {
  readonly runId: string;
  readonly observers: RunObservers;
  /** Records before the first one seen are past. */
  readonly source: LiveSource;
  /** Records currently come from the log, not from commits. */
  isReading: boolean;
  /** Close the run when reading has finished. */
  shouldClose: boolean;
}

export interface SessionWatchHost {
  readonly log: Log;
  readonly sessionId: string;
  readonly observers: ObserverGroup;
  /** Whether to observe this run; undefined stands for records without a run. Called when the run is first seen. */
  isWanted(runId: string | undefined): boolean;
  /** The run started in this process: none of its records are past, even if it is first seen in the middle. */
  readonly isAllNew: boolean;
  /** Receives each pending read, so that it can be awaited. */
  onReading(reading: Promise<void>): void;
  /** Called when the session gets its first live run and when it has none left. */
  onBusy(isBusy: boolean): void;
  onEnd(): void;
}

export class SessionWatch {
  readonly #host: SessionWatchHost;
  readonly #runs = new BoundedMap<RunWatch>(MAX_LIVE_RUNS, (run) => this.#release(run));
  readonly #complete = createRecordCompleter();
  #runless: RunObservers | undefined;
  #lastId = 0;
  /** The last run that was skipped. */
  #skippedRun: string | undefined;
  #isEnded = false;

  constructor(host: SessionWatchHost) {
    this.#host = host;
  }

  get lastId(): number {
    return this.#lastId;
  }

  /** Stops observing and closes all runs. */
  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#host.onEnd();
    this.#runless?.close(true);
    for (const run of this.#runs.values()) this.#release(run);
  }

  take(entries: readonly LogEntry[]): void {
    if (this.#isEnded) return;
    for (const entry of entries) {
      const record = this.#complete(entry.record);
      const { event_id: id, run_id: runId } = record.envelope;
      this.#lastId = id;
      if (runId === undefined) this.#openRunless()?.take(record, false);
      else this.#takeRunRecord(runId, record, id);
    }
  }

  #takeRunRecord(runId: string, record: StampedRecord, id: number): void {
    let run = this.#runs.get(runId);
    if (run === undefined) {
      if (runId === this.#skippedRun) return;
      if (!this.#host.isWanted(runId)) {
        this.#skippedRun = runId;
        return;
      }
      run = this.#openRun(runId, record, id);
    }
    run.source.lastSeen = id;
    if (run.isReading) return;
    run.observers.take(record, false);
    if (isTerminal(record.event)) this.#close(run, false);
  }

  #openRunless(): RunObservers | undefined {
    const { observers, sessionId } = this.#host;
    if (this.#runless === undefined && this.#host.isWanted(undefined))
      this.#runless = observers.openRun({ sessionId, runId: undefined });
    return this.#runless;
  }

  #openRun(runId: string, { event }: StampedRecord, id: number): RunWatch {
    const { log, observers, sessionId, isAllNew } = this.#host;
    const isReading = event.type !== "run_start";
    const source: LiveSource = { log, firstSeen: isAllNew ? 0 : id, lastSeen: id };
    const run: RunWatch = {
      runId,
      observers: observers.openRun({ sessionId, runId }, source),
      source,
      isReading,
      shouldClose: false,
    };
    this.#runs.set(runId, run);
    this.#host.onBusy(true);
    if (isReading) this.#host.onReading(this.#read(run));
    return run;
  }

  /** Passes the run from its start, up to the last record seen. Never rejects. */
  async #read(run: RunWatch): Promise<void> {
    const { log, sessionId, observers } = this.#host;
    const { source } = run;
    const complete = createRecordCompleter();
    let isOver = false;
    try {
      const info = await log.getRun(sessionId, run.runId);
      let position = (info?.firstId ?? source.lastSeen) - 1;
      while (position < source.lastSeen) {
        const from = position;
        for await (const { records } of followRecords(log, sessionId, { after: position })) {
          for (const stored of records) {
            const record = complete(stored);
            const { event_id: id, run_id } = record.envelope;
            // Records not seen yet come with their commit.
            if (id > source.lastSeen) break;
            position = id;
            if (run_id !== run.runId) continue;
            run.observers.take(record, id < source.firstSeen);
            isOver = isTerminal(record.event);
          }
          if (position >= source.lastSeen) break;
        }
        if (position === from)
          throw new LoomError(
            "store_failed",
            `Record ${source.lastSeen} of session "${sessionId}" is missing from the log`,
          );
      }
    } catch (error) {
      observers.report(error);
      run.shouldClose = true;
    }
    run.isReading = false;
    if (isOver || run.shouldClose) this.#close(run, !isOver);
  }

  #release(run: RunWatch): void {
    if (run.isReading) run.shouldClose = true;
    else this.#close(run, true);
  }

  #close(run: RunWatch, isUnfinished: boolean): void {
    // A new run may have the same ID.
    if (this.#runs.get(run.runId) === run) this.#runs.delete(run.runId);
    run.observers.close(isUnfinished);
    if (this.#runs.size === 0 && !this.#isEnded) this.#host.onBusy(false);
  }
}
