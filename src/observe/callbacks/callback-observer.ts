/**
 * Delivers the events of runs to callbacks. Each callback has its own queue; during the commit a payload is only
 * created and queued.
 *
 * Invariant: a callback runs in the asynchronous context of the code that started the run, or in the context in which
 * the observer was created if the run was not started here. Never in the context of another request.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { LoomError } from "../../protocol/index.ts";
import { BoundedMap } from "../../protocol/bounded-map.ts";
import { assertTime } from "../assert-limit.ts";
import { keyOfRun, type Observer } from "../observer.ts";
import { waitFor } from "../wait-for.ts";
import { type AnyCallback, isCallback } from "./callback.ts";
import { CallbackQueue, type InContext } from "./callback-queue.ts";
import { createPayloadProjection } from "./project-payloads.ts";
import { MAX_TIMER_MS } from "../../protocol/limit-timer.ts";
import {
  acceptInteger,
  acceptNumber,
  BOOLEAN_OPTION,
  FUNCTION_OPTION,
  type OptionTable,
  orElse,
  readOptions,
  withDefault,
} from "../../protocol/read-options.ts";

/** Options of `createCallbackObserver`. */
export interface CallbackOptions {
  /**
   * Maximum events queued per callback. Further events are dropped and counted, queued text first; code
   * `callback_backlog_full`. Default: 1,000.
   */
  readonly maxBacklog?: number;
  /** Approximate maximum size of the queued events in bytes; code `callback_backlog_full`. Default: 8 MiB. */
  readonly maxBacklogBytes?: number;
  /**
   * Milliseconds to wait for a callback before the next event is delivered; code `callback_timeout`. `Infinity`
   * disables the timeout. Default: 30,000.
   */
  readonly timeoutMs?: number;
  /** Whether callbacks that do not set `textDelta` receive `text_delta` events. Default: false. */
  readonly textDelta?: boolean;
  /**
   * Receives failures of callbacks: `callback_failed`, `callback_timeout`, and `callback_backlog_full` when dropping
   * starts and again, with the number of dropped events, when the callback has caught up. Default: one process warning
   * of each kind per callback.
   */
  readonly onError?: (error: LoomError) => void;
}

export const CALLBACK_OPTIONS = {
  maxBacklog: withDefault(acceptInteger(1), 1000),
  maxBacklogBytes: withDefault(acceptInteger(1), 8 * 1024 * 1024),
  timeoutMs: withDefault(
    orElse(acceptNumber(1, MAX_TIMER_MS), "Infinity", (value): value is number => value === Infinity),
    30_000,
  ),
  textDelta: withDefault(BOOLEAN_OPTION, false),
  onError: FUNCTION_OPTION,
} as const satisfies OptionTable<CallbackOptions>;

/** An observer that delivers events to callbacks. */
export interface CallbackObserver extends Observer {
  /** Number of events dropped, for all callbacks together. */
  readonly dropped: number;
  /** Whether the current code runs inside one of the callbacks. */
  readonly isInsideCallback: boolean;
  /**
   * Waits until the callbacks have handled all events so far. Returns false if that takes longer than `timeoutMs`, which
   * is 5,000 by default.
   */
  flush(timeoutMs?: number): Promise<boolean>;
  /** Drops all queued events and delivers no more. */
  close(): void;
}

export const DEFAULT_FLUSH_MS = 5000;

/** Expected runs that have not started. If there are more, the oldest loses its asynchronous context. */
const MAX_EXPECTED_RUNS = 10_000;

/**
 * Creates an observer that delivers the events of runs to callbacks, in order and outside the commit. Agents and servers
 * create one from their option `callbacks`. Throws a TypeError for an invalid callback and `invalid_arguments` for an
 * invalid option.
 */
export function createCallbackObserver(
  callbacks: readonly AnyCallback[],
  options: CallbackOptions = {},
): CallbackObserver {
  const queues = createCallbackQueues(callbacks, options);
  const wantsText = queues.some((queue) => queue.wantsText);
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
      const project = createPayloadProjection(wantsText);
      return {
        take(record, isPast) {
          const payloads = project(record);
          if (isPast) return;
          for (const payload of payloads) for (const queue of queues) queue.push(payload, inContext);
        },
        close: () => undefined,
      };
    },
    get dropped() {
      return queues.reduce((sum, queue) => sum + queue.dropped, 0);
    },
    get isInsideCallback() {
      return queues.some((queue) => queue.isInsideCallback);
    },
    flush: async (timeoutMs = DEFAULT_FLUSH_MS) => {
      const time = assertTime("timeoutMs", timeoutMs, 0);
      return waitFor(Promise.all(queues.map((queue) => queue.delivered())), time);
    },
    close() {
      for (const queue of queues) queue.close();
    },
  };
}

/** Creates one queue per callback. Duplicates are ignored. */
export function createCallbackQueues(
  callbacks: readonly AnyCallback[],
  options: CallbackOptions,
  { isAwaited = false } = {},
): readonly CallbackQueue[] {
  const { onError, ...limits }: CallbackOptions & Required<Omit<CallbackOptions, "onError">> = readOptions(
    CALLBACK_OPTIONS,
    options,
  );
  return [...new Set(callbacks)].map((callback) => {
    if (!isCallback(callback))
      throw new TypeError("A callback must be an object with a method `onEvent` or `on_event`");
    return new CallbackQueue(callback, { ...limits, isAwaited, report: onError ?? createWarningReporter() });
  });
}

/**
 * Warns once per kind, because a failing callback usually fails again. The start and the end of dropping are two kinds.
 */
function createWarningReporter(): (error: LoomError) => void {
  const reported = new Set<string>();
  return (error) => {
    const kind = `${error.code} ${"dropped" in error.details}`;
    if (reported.has(kind)) return;
    reported.add(kind);
    process.emitWarning(error);
  };
}
