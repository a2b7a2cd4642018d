/**
 * Carries out jobs that need each other's results: each begins the moment those it needs are done, so many at once as
 * there are places. A job may have jobs of its own: while it waits for them it gives its place to others, so that a single
 * place is enough for any depth. It knows no thought and no run.
 *
 * Invariants:
 * - A job is begun once or skipped once, never both, and never before all it needs have a result.
 * - No more jobs work at once than there are places, and no place is empty while a job could begin.
 * - Jobs that need each other are refused once nothing else is left: `run` never waits for what cannot come.
 * - After a job has thrown nothing new is begun; `run` rejects when all that was going has come to its end.
 */
import { LoomError } from "../../protocol/index.ts";

export interface Job {
  readonly id: string;
  /** Ids of other jobs of the same run. */
  readonly needs: readonly string[];
}

export interface Handlers<T extends Job> {
  /** Resolves to whether there is a result. What it throws ends everything. */
  readonly work: (job: T) => Promise<boolean>;
  /** It will not be begun, since one it needs has no result. */
  readonly skip: (job: T, need: string) => Promise<void>;
}

interface Entry<T extends Job> {
  readonly job: T;
  readonly dependants: Entry<T>[];
  /** Jobs it still waits for. */
  left: number;
  isSkipped: boolean;
}

export class Scheduler {
  #free: number;
  /** Jobs that could begin, in the order in which they came to be so. */
  readonly #ready = new Queue();
  /** Jobs that have begun and want their place back: they come first. */
  readonly #returning = new Queue();
  #failure: { readonly error: unknown } | undefined;

  constructor(places: number) {
    this.#free = places;
  }

  /** Resolves when each of the jobs is done or skipped. */
  run<T extends Job>(jobs: readonly T[], { work, skip }: Handlers<T>): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const entries = linkJobs(jobs);
    let open = entries.length;
    let going = 0;
    /** Jobs that could begin, and wait for a place. */
    let queued = 0;
    const settle = (): void => {
      if (this.#failure === undefined && open === 0) resolve();
      else if (this.#failure !== undefined && going === 0) reject(this.#failure.error);
      else if (going === 0 && queued === 0)
        reject(new LoomError("graph_invalid", `${open} of ${entries.length} jobs need each other`));
    };
    const enqueue = (entry: Entry<T>): void => {
      queued++;
      this.#ready.push(() => {
        queued--;
        begin(entry);
      });
    };
    const fail = (error: unknown): void => {
      going--;
      this.#fail(error);
      settle();
    };
    const end = (entry: Entry<T>, hasResult: boolean): void => {
      going--;
      open--;
      if (hasResult) release(entry, enqueue);
      else for (const [other, need] of listSkipped(entry)) leaveOut(other, need);
      settle();
    };
    const begin = (entry: Entry<T>): void => {
      if (this.#failure !== undefined) {
        settle();
        return;
      }
      this.#free--;
      going++;
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
    const leaveOut = ({ job }: Entry<T>, need: string): void => {
      going++;
      call(() => skip(job, need)).then(() => {
        going--;
        open--;
        settle();
      }, fail);
    };
    for (const entry of entries) if (entry.left === 0) enqueue(entry);
    this.#fill();
    settle();
    return promise;
  }

  /** For a job that is going: while this work is done, its place is another's. */
  async leave<T>(work: () => Promise<T>): Promise<T> {
    this.#free++;
    this.#fill();
    try {
      return await work();
    } finally {
      await this.#takePlace();
    }
  }

  #takePlace(): Promise<void> {
    return new Promise((resolve) => {
      this.#returning.push(() => {
        this.#free--;
        resolve();
      });
      this.#fill();
    });
  }

  /** After a failure those who wait are let go, whether there is a place or not. */
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

function linkJobs<T extends Job>(jobs: readonly T[]): readonly Entry<T>[] {
  const entries = new Map<string, Entry<T>>();
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

function release<T extends Job>({ dependants }: Entry<T>, enqueue: (entry: Entry<T>) => void): void {
  for (const entry of dependants) {
    entry.left--;
    if (entry.left === 0 && !entry.isSkipped) enqueue(entry);
  }
}

/** All that can no longer begin, each with the one it needs that has no result. */
function listSkipped<T extends Job>(failed: Entry<T>): readonly (readonly [entry: Entry<T>, need: string])[] {
  const found: (readonly [Entry<T>, string])[] = [];
  const take = (entry: Entry<T>): void => {
    for (const next of entry.dependants) {
      if (next.isSkipped) continue;
      next.isSkipped = true;
      found.push([next, entry.job.id]);
    }
  };
  take(failed);
  // The list grows while it is gone through.
  for (const [entry] of found) take(entry);
  return found;
}

/** A function that throws instead of rejecting is no different. */
async function call<T>(work: () => Promise<T>): Promise<T> {
  return work();
}

/** First in, first out, at a cost that does not grow with its length. */
class Queue {
  #items: (() => void)[] = [];
  #first = 0;

  push(item: () => void): void {
    this.#items.push(item);
  }

  shift(): (() => void) | undefined {
    const item = this.#items[this.#first];
    if (item !== undefined) this.#first++;
    else if (this.#first > 0) {
      this.#items = [];
      this.#first = 0;
    }
    return item;
  }
}
