/**
 * Callbacks as an observer: the payloads of each run, put before every callback in a lane of its own. What is done in the
 * commit is to make the payload and to put it there.
 */
import type { LoomError } from "../../protocol/index.ts";
import type { Observer } from "../observer.ts";
import type { Callback } from "./callback.ts";
import { CallbackLane } from "./callback-lane.ts";
import { createPayloadProjection } from "./project-payloads.ts";

export interface CallbackOptions {
  /** Events that wait for one callback; what comes on top is dropped and counted. Code `callback_backlog_full`. */
  readonly maxBacklog?: number;
  /** How long a callback is waited for before the next event goes on. Code `callback_timeout`. */
  readonly timeoutMs?: number;
  /** Whether callbacks that do not say are told `text_delta`. */
  readonly textDelta?: boolean;
  /**
   * Told what callbacks throw (`callback_failed`), that they hang, and of drops: when they begin, and how many they were.
   * Without it there is one warning for each callback.
   */
  readonly onError?: (error: LoomError) => void;
}

export interface CallbackObserver extends Observer {
  /** Events that were not told, of all callbacks together. */
  readonly dropped: number;
  /** Resolves when nothing waits any more: true; or when the time is up: false. Five seconds when absent. */
  flush(timeoutMs?: number): Promise<boolean>;
  /** Nothing is told any more; what waits is dropped. */
  close(): void;
}

const CALLBACK_DEFAULTS = { maxBacklog: 1000, timeoutMs: 30_000, flushMs: 5000 };

/** What comes by the thousand and makes no difference to any event. */
const IGNORED: ReadonlySet<string> = new Set(["tool_call_chunk"]);

export function createCallbackObserver(
  callbacks: readonly Callback[],
  options: CallbackOptions = {},
): CallbackObserver {
  const lanes = createLanes(callbacks, options);
  const text = lanes.some(({ wantsText }) => wantsText);
  return {
    name: "callbacks",
    ignores: IGNORED,
    openRun() {
      const project = createPayloadProjection(text);
      return {
        take(record, isPast) {
          const payloads = project(record);
          if (isPast) return;
          for (const payload of payloads) for (const lane of lanes) lane.push(payload);
        },
        close: () => undefined,
      };
    },
    get dropped() {
      return lanes.reduce((sum, lane) => sum + lane.dropped, 0);
    },
    flush: (timeoutMs = CALLBACK_DEFAULTS.flushMs) => flush(lanes, timeoutMs),
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
    timeoutMs = CALLBACK_DEFAULTS.timeoutMs,
    textDelta = false,
    onError,
  }: CallbackOptions,
): readonly CallbackLane[] {
  return [...new Set(callbacks)].map((callback) => {
    if (typeof (callback as Partial<Callback> | undefined)?.onEvent !== "function")
      throw new TypeError("a callback is an object with a method `onEvent`");
    return new CallbackLane(callback, { maxBacklog, timeoutMs, textDelta, report: onError ?? createWarning() });
  });
}

/** Says it once: a callback that fails does so again and again. */
function createWarning(): (error: LoomError) => void {
  let isWarned = false;
  return (error) => {
    if (isWarned) return;
    isWarned = true;
    process.emitWarning(error);
  };
}

async function flush(lanes: readonly CallbackLane[], timeoutMs: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(false), timeoutMs);
  void Promise.all(lanes.map((lane) => lane.idle())).then(() => resolve(true));
  const isDone = await promise;
  clearTimeout(timer);
  return isDone;
}
