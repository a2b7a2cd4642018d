/**
 * Shares the scheduler slot of a thought between its parallel tool calls. The slot is released while no call runs and
 * at least one waits for the user or the client; the first call that continues takes it back for all.
 */
import type { ToolCallMonitor } from "../run-calls.ts";
import type { Scheduler } from "./scheduler.ts";

/** For a running job that is about to start this many calls. */
export function shareSlot(scheduler: Pick<Scheduler, "releaseSlotWhile">, calls: number): ToolCallMonitor {
  let working = calls;
  let waiting = 0;
  let away: { comeBack(): Promise<void> } | undefined;
  const rest = (): void => {
    if (working > 0 || waiting === 0 || away !== undefined) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const back = scheduler.releaseSlotWhile(() => promise).then(() => void (away = undefined));
    away = {
      comeBack: () => {
        resolve();
        return back;
      },
    };
  };
  return {
    async duringWait(wait) {
      working--;
      waiting++;
      rest();
      try {
        return await wait();
      } finally {
        waiting--;
        // Counted before the slot is back, so that another waiting call does not release it again.
        working++;
        await away?.comeBack();
      }
    },
    onCallEnd() {
      working--;
      rest();
    },
  };
}
