/**
 * The place of a thought that makes several calls at once. It is another's while none of them works and at least one
 * waits for the user, who may take their time; the first that goes on takes it back for all. It knows no call.
 */
import type { CallWatch } from "../run-calls.ts";
import type { Scheduler } from "./scheduler.ts";

/** For a job that is going, and begins so many calls now. */
export function sharePlace(scheduler: Pick<Scheduler, "leave">, calls: number): CallWatch {
  let working = calls;
  let waiting = 0;
  let away: { comeBack(): Promise<void> } | undefined;
  const rest = (): void => {
    if (working > 0 || waiting === 0 || away !== undefined) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const back = scheduler.leave(() => promise).then(() => void (away = undefined));
    away = {
      comeBack: () => {
        resolve();
        return back;
      },
    };
  };
  return {
    async wait(asking) {
      working--;
      waiting++;
      rest();
      try {
        return await asking();
      } finally {
        waiting--;
        // From now on, or another that begins to wait would give the place away again.
        working++;
        await away?.comeBack();
      }
    },
    end() {
      working--;
      rest();
    },
  };
}
