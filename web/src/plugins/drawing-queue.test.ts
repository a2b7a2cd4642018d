import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type RendererEvents, createDrawingQueue, type DrawingFailure } from "./drawing-queue.ts";

interface Outcome {
  readonly drawn: string;
}

interface FakeRenderer extends RendererEvents<Outcome> {
  readonly sent: string[];
  isEnded: boolean;
}

const renderers: FakeRenderer[] = [];
const results: [string, Outcome | DrawingFailure][] = [];
const DONE: Outcome = { drawn: "it" };

const createQueue = (): ((name: string, signal?: AbortSignal) => void) => {
  const queue = createDrawingQueue<string, Outcome>({
    drawMs: 1000,
    loadMs: 5000,
    idleMs: 60_000,
    create: (events) => {
      const renderer: FakeRenderer = { ...events, sent: [], isEnded: false };
      renderers.push(renderer);
      return { send: (request) => renderer.sent.push(request), end: () => (renderer.isEnded = true) };
    },
  });
  return (name, signal = new AbortController().signal) =>
    queue.request(name, signal, (result) => results.push([name, result]));
};

const listSent = (renderer: FakeRenderer | undefined): unknown => renderer?.sent;

beforeEach(() => {
  vi.useFakeTimers();
  renderers.length = 0;
  results.length = 0;
});
afterEach(() => vi.useRealTimers());

describe("the queue of drawings", () => {
  it("starts one renderer with the first drawing, and sends one request at a time", () => {
    const request = createQueue();
    expect(renderers).toEqual([]);
    request("one");
    request("two");
    expect(listSent(renderers[0])).toEqual([]);
    renderers[0]?.onMessage("ready");
    expect(listSent(renderers[0])).toEqual(["one"]);
    renderers[0]?.onMessage(DONE);
    expect(results).toEqual([["one", DONE]]);
    expect(listSent(renderers[0])).toEqual(["one", "two"]);
    expect(renderers.length).toBe(1);
  });

  it("terminates a renderer that takes too long, and continues with another", () => {
    const request = createQueue();
    request("endless");
    request("next");
    renderers[0]?.onMessage("ready");
    vi.advanceTimersByTime(1000);
    expect(results).toEqual([["endless", { failure: "timeout" }]]);
    expect(renderers[0]?.isEnded).toBe(true);
    renderers[1]?.onMessage("ready");
    expect(listSent(renderers[1])).toEqual(["next"]);
  });

  it("fails every request if the renderer cannot be loaded", () => {
    const request = createQueue();
    request("one");
    renderers[0]?.onError();
    request("two");
    vi.advanceTimersByTime(5000);
    expect(results).toEqual([
      ["one", { failure: "unavailable" }],
      ["two", { failure: "unavailable" }],
    ]);
    const none = createDrawingQueue<string, Outcome>({
      create: () => {
        throw new Error("no renderers");
      },
    });
    const refused: (Outcome | DrawingFailure)[] = [];
    const { signal } = new AbortController();
    none.request("one", signal, (result) => refused.push(result));
    expect(refused).toEqual([{ failure: "unavailable" }]);
  });

  it("reports no result for an aborted request", () => {
    const request = createQueue();
    const gone = new AbortController();
    request("sent", gone.signal);
    request("waiting", gone.signal);
    renderers[0]?.onMessage("ready");
    gone.abort();
    renderers[0]?.onMessage(DONE);
    request("here");
    renderers[0]?.onMessage(DONE);
    expect(results).toEqual([["here", DONE]]);
    expect(listSent(renderers[0])).toEqual(["sent", "here"]);
  });

  it("terminates an idle renderer", () => {
    const request = createQueue();
    request("one");
    renderers[0]?.onMessage("ready");
    renderers[0]?.onMessage(DONE);
    vi.advanceTimersByTime(59_999);
    expect(renderers[0]?.isEnded).toBe(false);
    vi.advanceTimersByTime(1);
    expect(renderers[0]?.isEnded).toBe(true);
    request("two");
    expect(renderers.length).toBe(2);
  });
});
