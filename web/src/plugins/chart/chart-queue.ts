/**
 * Queue of charts for one worker. A chart that takes too long is aborted by terminating the worker; the next chart
 * starts a new one. The worker is loaded with the first chart and terminated after an idle period.
 *
 * Invariant: every request gets one result, unless it was aborted.
 */
import type { ChartWorkerMessage, ChartRequest } from "./chart-worker.ts";
import type { ChartOutcome } from "./compute-chart.ts";

export type ChartResult = ChartOutcome | { readonly failure: "timeout" | "unavailable" };

export interface ChartWorker {
  send(request: ChartRequest): void;
  /** Terminates the worker at once. It sends no further messages. */
  end(): void;
}

export interface ChartWorkerEvents {
  readonly onMessage: (answer: ChartWorkerMessage) => void;
  readonly onError: () => void;
}

export interface ChartQueueOptions {
  /** May throw if workers are not available. */
  readonly createWorker: (events: ChartWorkerEvents) => ChartWorker;
  readonly loadMs?: number;
  readonly computeMs?: number;
  readonly idleMs?: number;
}

export interface ChartQueue {
  /** Aborting the signal cancels the request; no result is reported then. */
  request(request: ChartRequest, signal: AbortSignal, onResult: (result: ChartResult) => void): void;
}

interface ChartJob {
  readonly request: ChartRequest;
  readonly signal: AbortSignal;
  readonly onResult: (result: ChartResult) => void;
}

export function createChartQueue(options: ChartQueueOptions): ChartQueue {
  const { createWorker, loadMs = 20_000, computeMs = 4000, idleMs = 60_000 } = options;
  const waiting: ChartJob[] = [];
  let current: ChartJob | undefined;
  let worker: ChartWorker | undefined;
  let isReady = false;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const setTimer = (ms: number, act: () => void): void => {
    clearTimeout(timer);
    timer = setTimeout(act, ms);
  };
  const end = (): void => {
    clearTimeout(timer);
    worker?.end();
    worker = undefined;
    isReady = false;
  };
  const answer = (result: ChartResult): void => {
    const job = current;
    current = undefined;
    if (job !== undefined && !job.signal.aborted) job.onResult(result);
    takeNext();
  };
  const fail = (failure: "timeout" | "unavailable"): void => {
    end();
    answer({ failure });
  };
  const send = (): void => {
    if (current === undefined) return setTimer(idleMs, end);
    setTimer(computeMs, () => fail("timeout"));
    worker?.send(current.request);
    return undefined;
  };
  const takeNext = (): void => {
    if (current !== undefined) return;
    do current = waiting.shift();
    while (current?.signal.aborted === true);
    if (current !== undefined && worker === undefined) load();
    else if (isReady) send();
  };
  const load = (): void => {
    setTimer(loadMs, () => fail("unavailable"));
    try {
      worker = createWorker({
        onError: () => fail("unavailable"),
        onMessage: (message) => {
          if (message !== "ready") return answer(message);
          isReady = true;
          return send();
        },
      });
    } catch {
      fail("unavailable");
    }
  };

  return {
    request(request, signal, onResult) {
      waiting.push({ request, signal, onResult });
      takeNext();
    },
  };
}
