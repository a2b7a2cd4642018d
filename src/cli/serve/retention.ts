/** Prunes the store periodically: old runs according to the retention settings, and outcomes of old commands always. */
import type { Log } from "../../log/index.ts";
import type { LoggerLike } from "../../observe/logs/create-log-observer.ts";
import { dropUndefined } from "../../protocol/drop-undefined.ts";
import type { Settings } from "./settings.ts";

/** Delay of the first pruning after the start. */
const FIRST_MS = 30_000;

export function startRetention(
  log: Pick<Log, "prune">,
  settings: Pick<Settings, "retention-age" | "retention-bytes" | "retention-every">,
  logger: LoggerLike,
  onPruned: (deleted: { readonly runs: number; readonly bytes: number }) => void = () => undefined,
): AsyncDisposable {
  const { "retention-age": maxAgeMs, "retention-bytes": maxBytes, "retention-every": every } = settings;
  const policy = dropUndefined({ maxAgeMs, maxBytes });
  let isStopped = false;
  let going: Promise<void> = Promise.resolve();
  const prune = async (): Promise<void> => {
    try {
      const { runs, bytes, damaged = [] } = await log.prune(policy);
      if (runs > 0) {
        logger.info({ runs, bytes }, "deleted old runs");
        onPruned({ runs, bytes });
      }
      if (damaged.length > 0) logger.warn({ sessions: damaged.slice(0, 10) }, "skipped damaged sessions");
    } catch (error) {
      if (!isStopped)
        logger.warn({ error: error instanceof Error ? error.message : String(error) }, "could not delete old runs");
    }
    schedule(every);
  };
  let timer: NodeJS.Timeout | undefined;
  const schedule = (ms: number): void => {
    if (isStopped) return;
    timer = setTimeout(() => {
      going = prune();
    }, ms).unref();
  };
  schedule(Math.min(FIRST_MS, every));
  return {
    async [Symbol.asyncDispose]() {
      isStopped = true;
      clearTimeout(timer);
      await going;
    },
  };
}
