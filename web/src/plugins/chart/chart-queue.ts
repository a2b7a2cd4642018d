/**
 * Has charts computed by a worker, one at a time. One that takes too long is ended with its worker; the next begins
 * anew. The worker, and the drawing library with it, is loaded when the first chart is asked for, and let go when there
 * has been none for a while.
 *
 * Invariant: every request is answered once, or was withdrawn.
 */
import type { ChartAnswer, ChartRequest } from "./chart-worker.ts";
import type { ChartOutcome } from "./compute-chart.ts";

export type ChartResult = ChartOutcome | { readonly failure: "timeout" | "unavailable" };

export interface ChartWorker {
  send(request: ChartRequest): void;
  /** At once, whatever it is doing; it says nothing after that. */
  end(): void;
}

export interface ChartWorkerEvents {
  readonly onAnswer: (answer: ChartAnswer) => void;
  readonly onError: () => void;
}

export interface ChartQueueOptions {
  /** May throw where there are no workers. */
  readonly createWorker: (events: ChartWorkerEvents) => ChartWorker;
  readonly loadMs?: number;
  readonly computeMs?: number;
  readonly idleMs?: number;
}

export interface ChartQueue {
  /** The signal withdraws it; nothing is answered then. */
  request(request: ChartRequest, signal: AbortSignal, onResult: (result: ChartResult) => void): void;
}

interface Job {
  readonly request: ChartRequest;
  readonly signal: AbortSignal;
  readonly onResult: (result: ChartResult) => void;
}

export function createChartQueue(options: ChartQueueOptions): ChartQueue {
  const { createWorker, loadMs = 20_000, computeMs = 4000, idleMs = 60_000 } = options;
  const waiting: Job[] = [];
  let current: Job | undefined;
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
        onAnswer: (told) => {
          if (told !== "ready") return answer(told);
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
