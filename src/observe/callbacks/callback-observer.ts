/**
 * Callbacks as an observer: the payloads of each run, put before every callback in a lane of its own. What is done in the
 * commit is to make the payload and to put it there.
 *
 * Invariant: a callback is told of a run in the asynchronous context of whoever asked for it; of a run nobody here asked
 * for, in the one in which the observer was made. Never in that of another request.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { BoundedMap, type LoomError } from "../../protocol/index.ts";
import { assertLimit, assertTime } from "../assert-limit.ts";
import { keyOfRun, type Observer } from "../observer.ts";
import { waitFor } from "../wait-for.ts";
import type { Callback } from "./callback.ts";
import { CallbackLane, type InContext } from "./callback-lane.ts";
import { createPayloadProjection } from "./project-payloads.ts";

export interface CallbackOptions {
  /**
   * Events that wait for one callback; 1000 when absent. What comes on top is dropped and counted, waiting text first. Code
   * `callback_backlog_full`.
   */
  readonly maxBacklog?: number;
  /** Bytes of those events, roughly; 8 MiB when absent. The same code. */
  readonly maxBacklogBytes?: number;
  /**
   * How long a callback is waited for before the next event goes on; 30 seconds when absent, `Infinity` for as long as it
   * takes. Code `callback_timeout`.
   */
  readonly timeoutMs?: number;
  /** Whether callbacks that do not say are told `text_delta`. */
  readonly textDelta?: boolean;
  /**
   * Told what callbacks throw (`callback_failed`), that they hang, and of drops: when they begin, and how many they were
   * when the callback has caught up. Without it there is one warning of each kind for each callback.
   */
  readonly onError?: (error: LoomError) => void;
}

export interface CallbackObserver extends Observer {
  /** Events that were not told, of all callbacks together. */
  readonly dropped: number;
  /** Whether whoever asks is one of the callbacks, and is being told something. */
  readonly isTelling: boolean;
  /** Resolves when nothing waits any more: true; or when the time is up: false. Five seconds when absent. */
  flush(timeoutMs?: number): Promise<boolean>;
  /** Nothing is told any more; what waits is dropped. */
  close(): void;
}

const CALLBACK_DEFAULTS = { maxBacklog: 1000, maxBacklogBytes: 8 * 1024 * 1024, timeoutMs: 30_000 };
export const DEFAULT_FLUSH_MS = 5000;

/** Runs that were asked for and have not begun; the oldest is forgotten, and told outside of its context. */
const MAX_EXPECTED_RUNS = 10_000;

export function createCallbackObserver(
  callbacks: readonly Callback[],
  options: CallbackOptions = {},
): CallbackObserver {
  const lanes = createLanes(callbacks, options);
  const text = lanes.some(({ wantsText }) => wantsText);
  const inOwnContext = AsyncLocalStorage.snapshot();
  const expected = new BoundedMap<InContext>(MAX_EXPECTED_RUNS);
  return {
    name: "callbacks",
    expectRun(run) {
      expected.set(keyOfRun(run), AsyncLocalStorage.snapshot());
    },
    openRun(run) {
      const key = keyOfRun(run);
      const inContext = expected.get(key) ?? inOwnContext;
      expected.delete(key);
      const project = createPayloadProjection(text);
      return {
        take(record, isPast) {
          const payloads = project(record);
          if (isPast) return;
          for (const payload of payloads) for (const lane of lanes) lane.push(payload, inContext);
        },
        close: () => undefined,
      };
    },
    get dropped() {
      return lanes.reduce((sum, lane) => sum + lane.dropped, 0);
    },
    get isTelling() {
      return lanes.some((lane) => lane.isTelling);
    },
    flush: async (timeoutMs = DEFAULT_FLUSH_MS) => {
      const time = assertTime("timeoutMs", timeoutMs, 0);
      return waitFor(Promise.all(lanes.map((lane) => lane.idle())), time);
    },
    close() {
      for (const lane of lanes) lane.close();
    },
  };
}

/** One for each callback; one that was given twice is told once. */
export function createLanes(
  callbacks: readonly Callback[],
  {
    maxBacklog = CALLBACK_DEFAULTS.maxBacklog,
    maxBacklogBytes = CALLBACK_DEFAULTS.maxBacklogBytes,
    timeoutMs = CALLBACK_DEFAULTS.timeoutMs,
    textDelta = false,
    onError,
  }: CallbackOptions,
  { isAwaited = false } = {},
): readonly CallbackLane[] {
  const limits = {
    maxBacklog: assertLimit("maxBacklog", maxBacklog, 1),
    maxBacklogBytes: assertLimit("maxBacklogBytes", maxBacklogBytes, 1),
    timeoutMs: assertTime("timeoutMs", timeoutMs, 1),
  };
  return [...new Set(callbacks)].map((callback) => {
    if (typeof (callback as Partial<Callback> | undefined)?.onEvent !== "function")
      throw new TypeError("a callback is an object with a method `onEvent`");
    return new CallbackLane(callback, { ...limits, textDelta, isAwaited, report: onError ?? createWarning() });
  });
}

/** Says each thing once: a callback that fails does so again and again. That events are dropped, and how many, are two. */
function createWarning(): (error: LoomError) => void {
  const told = new Set<string>();
  return (error) => {
    const kind = `${error.code} ${"dropped" in error.details}`;
    if (told.has(kind)) return;
    told.add(kind);
    process.emitWarning(error);
  };
}
