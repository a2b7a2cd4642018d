/**
 * Runs jobs that need each other's results. Each job starts as soon as the jobs it needs are done and a slot is free. A
 * job that runs jobs itself gives up its slot meanwhile, so one slot is enough for any depth.
 *
 * Invariants:
 * - A job is started once or skipped once, never both, and never before the jobs it needs have results.
 * - At most as many jobs run as there are slots, and no slot is free while a job could start.
 * - After a job throws, nothing new is started; `run` rejects when the running jobs have ended.
 */

export interface ScheduledJob {
  readonly id: string;
  /** Ids of jobs before it in the same run. Others are not waited for. */
  readonly needs: readonly string[];
}

export interface JobHandlers<T extends ScheduledJob> {
  /** Resolves to whether there is a result. An error stops the whole run. */
  readonly work: (job: T) => Promise<boolean>;
  /** Called for a job that cannot start because `need` has no result. */
  readonly skip: (job: T, need: string) => Promise<void>;
}

/** A job that another one needs, and whether it has a result. */
interface NeededJob {
  readonly id: string;
  readonly end: Promise<boolean>;
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
  async run<T extends ScheduledJob>(jobs: readonly T[], handlers: JobHandlers<T>): Promise<void> {
    const ends = new Map<string, Promise<boolean>>();
    for (const job of jobs) {
      const needed = job.needs.flatMap((id): readonly NeededJob[] => {
        const end = ends.get(id);
        return end === undefined ? [] : [{ id, end }];
      });
      ends.set(job.id, this.#runJob(job, needed, handlers));
    }
    await Promise.all(ends.values());
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  /** Resolves to whether there is a result. */
  async #runJob<T extends ScheduledJob>(
    job: T,
    needed: readonly NeededJob[],
    { work, skip }: JobHandlers<T>,
  ): Promise<boolean> {
    let hasSlot = false;
    try {
      const missing = needed.length === 0 ? undefined : await findMissing(needed);
      if (missing === undefined) {
        const waiting = this.#takeSlot(this.#ready);
        if (waiting !== undefined) await waiting;
        hasSlot = true;
      }
      if (this.#failure !== undefined) return false;
      if (missing === undefined) return await work(job);
      await skip(job, missing);
    } catch (error) {
      this.#failure ??= { error };
    } finally {
      if (hasSlot) this.#free++;
      this.#fill();
    }
    return false;
  }

  /** Gives the slot of a running job to others while `work` runs. */
  async releaseSlotWhile<T>(work: () => Promise<T>): Promise<T> {
    this.#free++;
    this.#fill();
    try {
      return await work();
    } finally {
      await this.#takeSlot(this.#returning);
    }
  }

  /** Undefined if there is nothing to wait for. */
  #takeSlot(queue: (() => void)[]): Promise<void> | undefined {
    if (this.#failure !== undefined) return undefined;
    if (this.#free === 0)
      return new Promise((resolve) => {
        queue.push(() => {
          this.#free--;
          resolve();
        });
      });
    this.#free--;
    return undefined;
  }

  /** After a failure, all waiting jobs continue without a slot, so that they can end. */
  #fill(): void {
    while (this.#failure !== undefined || this.#free > 0) {
      const next = this.#returning.shift() ?? this.#ready.shift();
      if (next === undefined) return;
      next();
    }
  }
}

/** Returns the first job that ends without a result, as soon as it does; undefined if all have one. */
function findMissing(needed: readonly NeededJob[]): Promise<string | undefined> {
  return new Promise((resolve) => {
    let left = needed.length;
    for (const { id, end } of needed)
      void end.then((hasResult) => {
        left--;
        if (!hasResult) resolve(id);
        else if (left === 0) resolve(undefined);
      });
  });
}
