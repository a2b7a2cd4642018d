/**
 * One session as it is observed by one who feeds it: which of its runs are shown, how far each has been shown, and what is
 * read from the log where a run is first met in its middle.
 *
 * Invariants:
 * - Each record is shown once, in order.
 * - It holds no records. While a run's past is being read, what is committed meanwhile is read from the log as well.
 */
import { followRecords } from "../log/follow-records.ts";
import type { Log, LogEntry } from "../log/log.ts";
import { BoundedMap, isTerminal, LoomError, type StampedRecord } from "../protocol/index.ts";
import type { Audience, LiveSource, RunAudience } from "./audience.ts";
import { createCompletion } from "./complete-records.ts";

/** Live runs of one session; beyond that the oldest is let go of. A session has one, unless it was left in disorder. */
const MAX_LIVE_RUNS = 1000;

interface RunWatch {
  readonly runId: string;
  readonly audience: RunAudience;
  /** What lies before the first record that was met is past. */
  readonly source: LiveSource;
  /** Its records come from the log for now, not from the commit. */
  isReading: boolean;
  /** To be closed as soon as it is read. */
  isLeft: boolean;
}

export interface SessionWatchHost {
  readonly log: Log;
  readonly sessionId: string;
  readonly audience: Audience;
  /** Whether this run is shown; undefined is for what belongs to none. Asked when the run is met. */
  isWanted(runId: string | undefined): boolean;
  /** The run began in this process: nothing of it is past, even if it is met in its middle. */
  readonly isAllNew: boolean;
  /** Told of readings, so that somebody can wait for them. */
  onReading(reading: Promise<void>): void;
  /** Told when it has live runs, and when it has none. */
  onBusy(isBusy: boolean): void;
  onEnd(): void;
}

export class SessionWatch {
  readonly #host: SessionWatchHost;
  readonly #runs = new BoundedMap<RunWatch>(MAX_LIVE_RUNS, (run) => this.#leave(run));
  readonly #complete = createCompletion();
  #runless: RunAudience | undefined;
  #lastId = 0;
  /** The run that was last found not to be wanted. */
  #passedOver: string | undefined;
  #isEnded = false;

  constructor(host: SessionWatchHost) {
    this.#host = host;
  }

  get lastId(): number {
    return this.#lastId;
  }

  /** Lets go of everything. */
  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#host.onEnd();
    this.#runless?.close(true);
    for (const run of this.#runs.values()) this.#leave(run);
  }

  take(entries: readonly LogEntry[]): void {
    if (this.#isEnded) return;
    for (const entry of entries) {
      const record = this.#complete(entry.record);
      const { event_id: id, run_id: runId } = record.envelope;
      this.#lastId = id;
      if (runId === undefined) this.#openRunless()?.take(record, false);
      else this.#takeOfRun(runId, record, id);
    }
  }

  #takeOfRun(runId: string, record: StampedRecord, id: number): void {
    let run = this.#runs.get(runId);
    if (run === undefined) {
      if (runId === this.#passedOver) return;
      if (!this.#host.isWanted(runId)) {
        this.#passedOver = runId;
        return;
      }
      run = this.#meet(runId, record, id);
    }
    run.source.lastMet = id;
    if (run.isReading) return;
    run.audience.take(record, false);
    if (isTerminal(record.event)) this.#close(run, false);
  }

  #openRunless(): RunAudience | undefined {
    const { audience, sessionId } = this.#host;
    if (this.#runless === undefined && this.#host.isWanted(undefined))
      this.#runless = audience.openRun({ sessionId, runId: undefined });
    return this.#runless;
  }

  #meet(runId: string, { event }: StampedRecord, id: number): RunWatch {
    const { log, audience, sessionId, isAllNew } = this.#host;
    const isReading = event.type !== "run_start";
    const source: LiveSource = { log, firstMet: isAllNew ? 0 : id, lastMet: id };
    const run: RunWatch = {
      runId,
      audience: audience.openRun({ sessionId, runId }, source),
      source,
      isReading,
      isLeft: false,
    };
    this.#runs.set(runId, run);
    this.#host.onBusy(true);
    if (isReading) this.#host.onReading(this.#read(run));
    return run;
  }

  /** Shows the run from its beginning, until the log has no more of it than was met. Never rejects. */
  async #read(run: RunWatch): Promise<void> {
    const { log, sessionId, audience } = this.#host;
    const { source } = run;
    const complete = createCompletion();
    let isOver = false;
    try {
      const info = await log.getRun(sessionId, run.runId);
      let position = (info?.firstId ?? source.lastMet) - 1;
      while (position < source.lastMet) {
        const from = position;
        for await (const { records } of followRecords(log, sessionId, { after: position })) {
          for (const stored of records) {
            const record = complete(stored);
            const { event_id: id, run_id } = record.envelope;
            // What is durable but was not met yet comes with its commit.
            if (id > source.lastMet) break;
            position = id;
            if (run_id !== run.runId) continue;
            run.audience.take(record, id < source.firstMet);
            isOver = isTerminal(record.event);
          }
          if (position >= source.lastMet) break;
        }
        if (position === from)
          throw new LoomError("store_failed", `record ${source.lastMet} of session "${sessionId}" cannot be found`);
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
    if (this.#runs.size === 0 && !this.#isEnded) this.#host.onBusy(false);
  }
}
