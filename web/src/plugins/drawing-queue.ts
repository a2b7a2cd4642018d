/**
 * Queue of drawings for one renderer, a worker or a frame. A drawing that takes too long is aborted by ending the renderer;
 * the next one starts another. The renderer is loaded with the first drawing and ended after an idle period.
 *
 * Invariant: every request gets one result, unless it was aborted.
 */
export type DrawingFailure = { readonly failure: "timeout" | "unavailable" };

/** A worker or frame that draws. `Request` must be a value that can be posted. */
export interface Renderer<Request> {
  send(request: Request): void;
  /** Ends it at once. It sends no further messages. */
  end(): void;
}

export interface RendererEvents<Outcome> {
  /** Receives `ready` once, then one outcome per request. */
  readonly onMessage: (message: "ready" | Outcome) => void;
  readonly onError: () => void;
}

export interface DrawingQueueOptions<Request, Outcome> {
  /** May throw if it is not available. */
  readonly create: (events: RendererEvents<Outcome>) => Renderer<Request>;
  readonly loadMs?: number;
  readonly drawMs?: number;
  readonly idleMs?: number;
}

export interface DrawingQueue<Request, Outcome> {
  /** Aborting the signal cancels the request; no result is reported then. */
  request(request: Request, signal: AbortSignal, onResult: (result: Outcome | DrawingFailure) => void): void;
}

interface DrawingJob<Request, Outcome> {
  readonly request: Request;
  readonly signal: AbortSignal;
  readonly onResult: (result: Outcome | DrawingFailure) => void;
}

export function createDrawingQueue<Request, Outcome extends object>(
  options: DrawingQueueOptions<Request, Outcome>,
): DrawingQueue<Request, Outcome> {
  const { create, loadMs = 20_000, drawMs = 4000, idleMs = 60_000 } = options;
  const waiting: DrawingJob<Request, Outcome>[] = [];
  let current: DrawingJob<Request, Outcome> | undefined;
  let renderer: Renderer<Request> | undefined;
  let isReady = false;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const setTimer = (ms: number, act: () => void): void => {
    clearTimeout(timer);
    timer = setTimeout(act, ms);
  };
  const end = (): void => {
    clearTimeout(timer);
    renderer?.end();
    renderer = undefined;
    isReady = false;
  };
  const answer = (result: Outcome | DrawingFailure): void => {
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
    setTimer(drawMs, () => fail("timeout"));
    renderer?.send(current.request);
    return undefined;
  };
  const takeNext = (): void => {
    if (current !== undefined) return;
    do current = waiting.shift();
    while (current?.signal.aborted === true);
    if (current !== undefined && renderer === undefined) load();
    else if (isReady) send();
  };
  const load = (): void => {
    setTimer(loadMs, () => fail("unavailable"));
    try {
      renderer = create({
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
