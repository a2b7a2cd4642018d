/**
 * The requests of one list, search or value: when they are sent, and which answer counts. It neither sends them nor keeps
 * their answers.
 */
export interface Query {
  /** Calls `load` after this time. Calls meanwhile share it: the earliest time counts. */
  schedule(ms: number, load: () => void): void;
  /** Aborts the request before it. Resolves to undefined if a later one or `cancel` superseded this one. */
  latest<T>(request: (signal: AbortSignal) => Promise<T>): Promise<T | undefined>;
  /** Repeats a request until nothing was changed while it was pending. */
  fresh<T>(request: () => Promise<T>): Promise<T>;
  /** Reports a local change: pending answers do not have it. */
  change(): void;
  /** Does work that is a local change: answers from before its end do not have it. */
  changing<T>(work: () => Promise<T>): Promise<T>;
  /** Ends what is scheduled, and the latest request. */
  cancel(this: void): void;
}

export function createQuery(): Query {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let dueAt = Number.POSITIVE_INFINITY;
  let pending = new AbortController();
  let changes = 0;
  return {
    schedule(ms, load) {
      if (Date.now() + ms >= dueAt) return;
      clearTimeout(timer);
      dueAt = Date.now() + ms;
      timer = setTimeout(() => {
        dueAt = Number.POSITIVE_INFINITY;
        load();
      }, ms);
    },
    async latest(request) {
      pending.abort();
      const { signal } = (pending = new AbortController());
      try {
        const answer = await request(signal);
        return signal.aborted ? undefined : answer;
      } catch (error) {
        if (signal.aborted) return undefined;
        throw error;
      }
    },
    async fresh(request) {
      for (;;) {
        const before = changes;
        const answer = await request();
        if (before === changes) return answer;
      }
    },
    change: () => void changes++,
    async changing(work) {
      changes++;
      try {
        return await work();
      } finally {
        changes++;
      }
    },
    cancel() {
      clearTimeout(timer);
      dueAt = Number.POSITIVE_INFINITY;
      pending.abort();
    },
  };
}
