import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { ChartLook } from "./chart-look.ts";
import { type ChartResult, type ChartWorkerEvents, createChartQueue } from "./chart-queue.ts";
import type { ChartRequest } from "./chart-worker.ts";

interface FakeWorker extends ChartWorkerEvents {
  readonly sent: ChartRequest[];
  isEnded: boolean;
}

const workers: FakeWorker[] = [];
const results: [string, ChartResult][] = [];
const DONE: ChartResult = { failure: "no_data" };

const makeQueue = (): ((name: string, signal?: AbortSignal) => void) => {
  const queue = createChartQueue({
    computeMs: 1000,
    loadMs: 5000,
    idleMs: 60_000,
    createWorker: (events) => {
      const worker: FakeWorker = { ...events, sent: [], isEnded: false };
      workers.push(worker);
      return { send: (request) => worker.sent.push(request), end: () => (worker.isEnded = true) };
    },
  });
  return (name, signal = new AbortController().signal) =>
    queue.request({ specification: { name }, look: {} as ChartLook }, signal, (result) => results.push([name, result]));
};

const listSent = (worker: FakeWorker | undefined): unknown =>
  worker?.sent.map(({ specification }) => specification["name"]);

beforeEach(() => {
  vi.useFakeTimers();
  workers.length = 0;
  results.length = 0;
});
afterEach(() => vi.useRealTimers());

describe("the queue of charts", () => {
  it("starts one worker when there is a chart, and asks for one at a time", () => {
    const ask = makeQueue();
    expect(workers).toEqual([]);
    ask("one");
    ask("two");
    expect(listSent(workers[0])).toEqual([]);
    workers[0]?.onAnswer("ready");
    expect(listSent(workers[0])).toEqual(["one"]);
    workers[0]?.onAnswer(DONE);
    expect(results).toEqual([["one", DONE]]);
    expect(listSent(workers[0])).toEqual(["one", "two"]);
    expect(workers.length).toBe(1);
  });

  it("ends one that takes too long, and goes on with another worker", () => {
    const ask = makeQueue();
    ask("endless");
    ask("next");
    workers[0]?.onAnswer("ready");
    vi.advanceTimersByTime(1000);
    expect(results).toEqual([["endless", { failure: "timeout" }]]);
    expect(workers[0]?.isEnded).toBe(true);
    workers[1]?.onAnswer("ready");
    expect(listSent(workers[1])).toEqual(["next"]);
  });

  it("answers everybody where nothing can be loaded", () => {
    const ask = makeQueue();
    ask("one");
    workers[0]?.onError();
    ask("two");
    vi.advanceTimersByTime(5000);
    expect(results).toEqual([
      ["one", { failure: "unavailable" }],
      ["two", { failure: "unavailable" }],
    ]);
    const none = createChartQueue({
      createWorker: () => {
        throw new Error("no workers");
      },
    });
    const told: ChartResult[] = [];
    const { signal } = new AbortController();
    none.request({ specification: {}, look: {} as ChartLook }, signal, (result) => told.push(result));
    expect(told).toEqual([{ failure: "unavailable" }]);
  });

  it("answers nobody who has gone", () => {
    const ask = makeQueue();
    const gone = new AbortController();
    ask("sent", gone.signal);
    ask("waiting", gone.signal);
    workers[0]?.onAnswer("ready");
    gone.abort();
    workers[0]?.onAnswer(DONE);
    ask("here");
    workers[0]?.onAnswer(DONE);
    expect(results).toEqual([["here", DONE]]);
    expect(listSent(workers[0])).toEqual(["sent", "here"]);
  });

  it("lets the worker go when there has been nothing to draw for a while", () => {
    const ask = makeQueue();
    ask("one");
    workers[0]?.onAnswer("ready");
    workers[0]?.onAnswer(DONE);
    vi.advanceTimersByTime(59_999);
    expect(workers[0]?.isEnded).toBe(false);
    vi.advanceTimersByTime(1);
    expect(workers[0]?.isEnded).toBe(true);
    ask("two");
    expect(workers.length).toBe(2);
  });
});
