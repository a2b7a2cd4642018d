/**
 * Runs jobs that need each other's results. Each job starts as soon as the jobs it needs are done and a slot is free. A
 * job that runs jobs itself gives up its slot meanwhile, so one slot is enough for any depth.
 *
 * Invariants:
 * - A job is started once or skipped once, never both, and never before the jobs it needs have results.
 * - At most as many jobs run as there are slots, and no slot is free while a job could start.
 * - Jobs that need each other in a cycle are rejected once nothing else is left; `run` never hangs.
 * - After a job throws, nothing new is started; `run` rejects when the running jobs have ended.
 */
import { LoomError } from "../../protocol/index.ts";

export interface ScheduledJob {
  readonly id: string;
  /** Ids of jobs in the same run. */
  readonly needs: readonly string[];
}

export interface JobHandlers<T extends ScheduledJob> {
  /** Resolves to whether there is a result. An error stops the whole run. */
  readonly work: (job: T) => Promise<boolean>;
  /** Called for a job that cannot start because `need` has no result. */
  readonly skip: (job: T, need: string) => Promise<void>;
}

interface JobEntry<T extends ScheduledJob> {
  readonly job: T;
  readonly dependants: JobEntry<T>[];
  /** Number of jobs it still waits for. */
  left: number;
  isSkipped: boolean;
}

export class Scheduler {
  #free: number;
  /** Jobs ready to start, in order. */
  readonly #ready: (() => void)[] = [];
  /** Started jobs that want their slot back. They have priority. */
  readonly #returning: (() => void)[] = [];
  #failure: { readonly error: unknown } | undefined;

  constructor(slots: number) {
    this.#free = slots;
  }

  /** Resolves when every job is done or skipped. */
  run<T extends ScheduledJob>(jobs: readonly T[], { work, skip }: JobHandlers<T>): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const entries = linkJobs(jobs);
    let open = entries.length;
    let running = 0;
    /** Number of ready jobs that wait for a slot. */
    let queued = 0;
    const settle = (): void => {
      if (this.#failure === undefined && open === 0) resolve();
      else if (this.#failure !== undefined && running === 0) reject(this.#failure.error);
      else if (running === 0 && queued === 0)
        reject(new LoomError("graph_invalid", `${open} of ${entries.length} jobs need each other in a cycle`));
    };
    const enqueue = (entry: JobEntry<T>): void => {
      queued++;
      this.#ready.push(() => {
        queued--;
        begin(entry);
      });
    };
    const fail = (error: unknown): void => {
      running--;
      this.#fail(error);
      settle();
    };
    const end = (entry: JobEntry<T>, hasResult: boolean): void => {
      running--;
      open--;
      if (hasResult) release(entry, enqueue);
      else for (const [other, need] of listSkipped(entry)) leaveOut(other, need);
      settle();
    };
    const begin = (entry: JobEntry<T>): void => {
      if (this.#failure !== undefined) {
        settle();
        return;
      }
      this.#free--;
      running++;
      call(() => work(entry.job)).then(
        (hasResult) => {
          this.#free++;
          end(entry, hasResult);
          this.#fill();
        },
        (error: unknown) => {
          this.#free++;
          fail(error);
        },
      );
    };
    const leaveOut = ({ job }: JobEntry<T>, need: string): void => {
      running++;
      call(() => skip(job, need)).then(() => {
        running--;
        open--;
        settle();
      }, fail);
    };
    for (const entry of entries) if (entry.left === 0) enqueue(entry);
    this.#fill();
    settle();
    return promise;
  }

  /** Gives the slot of a running job to others while `work` runs. */
  async releaseSlotWhile<T>(work: () => Promise<T>): Promise<T> {
    this.#free++;
    this.#fill();
    try {
      return await work();
    } finally {
      await this.#takeSlot();
    }
  }

  #takeSlot(): Promise<void> {
    return new Promise((resolve) => {
      this.#returning.push(() => {
        this.#free--;
        resolve();
      });
      this.#fill();
    });
  }

  /** After a failure, all waiting jobs continue without a slot, so that they can end. */
  #fill(): void {
    while (this.#failure !== undefined || this.#free > 0) {
      const next = this.#returning.shift() ?? this.#ready.shift();
      if (next === undefined) return;
      next();
    }
  }

  #fail(error: unknown): void {
    this.#failure ??= { error };
    this.#fill();
  }
}

function linkJobs<T extends ScheduledJob>(jobs: readonly T[]): readonly JobEntry<T>[] {
  const entries = new Map<string, JobEntry<T>>();
  for (const job of jobs) entries.set(job.id, { job, dependants: [], left: 0, isSkipped: false });
  for (const entry of entries.values()) {
    for (const need of entry.job.needs) {
      const needed = entries.get(need);
      if (needed === undefined) continue;
      needed.dependants.push(entry);
      entry.left++;
    }
  }
  return [...entries.values()];
}

function release<T extends ScheduledJob>({ dependants }: JobEntry<T>, enqueue: (entry: JobEntry<T>) => void): void {
  for (const entry of dependants) {
    entry.left--;
    if (entry.left === 0 && !entry.isSkipped) enqueue(entry);
  }
}

/** Marks and returns all jobs that can no longer start, each with the job it needs that has no result. */
function listSkipped<T extends ScheduledJob>(
  failed: JobEntry<T>,
): readonly (readonly [entry: JobEntry<T>, need: string])[] {
  const found: (readonly [JobEntry<T>, string])[] = [];
  const take = (entry: JobEntry<T>): void => {
    for (const next of entry.dependants) {
      if (next.isSkipped) continue;
      next.isSkipped = true;
      found.push([next, entry.job.id]);
    }
  };
  take(failed);
  // The list grows during the loop.
  for (const [entry] of found) take(entry);
  return found;
}

/** Turns a synchronous throw into a rejection. */
async function call<T>(work: () => Promise<T>): Promise<T> {
  return work();
}
