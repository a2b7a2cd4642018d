import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { ChartStyle } from "./chart-style.ts";
import { type ChartResult, type ChartWorkerEvents, createChartQueue } from "./chart-queue.ts";
import type { ChartRequest } from "./chart-worker.ts";

interface FakeWorker extends ChartWorkerEvents {
  readonly sent: ChartRequest[];
  isEnded: boolean;
}

const workers: FakeWorker[] = [];
const results: [string, ChartResult][] = [];
const DONE: ChartResult = { failure: "no_data" };

const createQueue = (): ((name: string, signal?: AbortSignal) => void) => {
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
    queue.request({ specification: { name }, style: {} as ChartStyle }, signal, (result) =>
      results.push([name, result]),
    );
};

const listSent = (worker: FakeWorker | undefined): unknown =>
  worker?.sent.map(({ specification }) => specification["name"]);

beforeEach(() => {
  vi.useFakeTimers();
  workers.length = 0;
  results.length = 0;
});
afterEach(() => vi.useRealTimers());

describe("the chart queue", () => {
  it("starts one worker with the first chart, and sends one request at a time", () => {
    const request = createQueue();
    expect(workers).toEqual([]);
    request("one");
    request("two");
    expect(listSent(workers[0])).toEqual([]);
    workers[0]?.onMessage("ready");
    expect(listSent(workers[0])).toEqual(["one"]);
    workers[0]?.onMessage(DONE);
    expect(results).toEqual([["one", DONE]]);
    expect(listSent(workers[0])).toEqual(["one", "two"]);
    expect(workers.length).toBe(1);
  });

  it("terminates a worker that takes too long, and continues with another", () => {
    const request = createQueue();
    request("endless");
    request("next");
    workers[0]?.onMessage("ready");
    vi.advanceTimersByTime(1000);
    expect(results).toEqual([["endless", { failure: "timeout" }]]);
    expect(workers[0]?.isEnded).toBe(true);
    workers[1]?.onMessage("ready");
    expect(listSent(workers[1])).toEqual(["next"]);
  });

  it("fails every request if the worker cannot be loaded", () => {
    const request = createQueue();
    request("one");
    workers[0]?.onError();
    request("two");
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
    const refused: ChartResult[] = [];
    const { signal } = new AbortController();
    none.request({ specification: {}, style: {} as ChartStyle }, signal, (result) => refused.push(result));
    expect(refused).toEqual([{ failure: "unavailable" }]);
  });

  it("reports no result for an aborted request", () => {
    const request = createQueue();
    const gone = new AbortController();
    request("sent", gone.signal);
    request("waiting", gone.signal);
    workers[0]?.onMessage("ready");
    gone.abort();
    workers[0]?.onMessage(DONE);
    request("here");
    workers[0]?.onMessage(DONE);
    expect(results).toEqual([["here", DONE]]);
    expect(listSent(workers[0])).toEqual(["sent", "here"]);
  });

  it("terminates an idle worker", () => {
    const request = createQueue();
    request("one");
    workers[0]?.onMessage("ready");
    workers[0]?.onMessage(DONE);
    vi.advanceTimersByTime(59_999);
    expect(workers[0]?.isEnded).toBe(false);
    vi.advanceTimersByTime(1);
    expect(workers[0]?.isEnded).toBe(true);
    request("two");
    expect(workers.length).toBe(2);
  });
});
