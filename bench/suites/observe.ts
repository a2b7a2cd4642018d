/**
 * What observers add to a run of an agent. The limit is the same run without them. That a callback which hangs delays no
 * token is a test (`test/callbacks.test.ts`).
 */
import { BasicTracerProvider, type SpanProcessor } from "@opentelemetry/sdk-trace-base";
import { agent, type AgentOptions } from "../../src/agents/index.ts";
import { MemoryLog } from "../../src/log/index.ts";
import { type Callback, createTraceObserver, MetricsCollector } from "../../src/observe/index.ts";
import type { Benchmark, Prepare, Row } from "../benchmark.ts";
import { WordyModel } from "../wordy-model.ts";

interface Observers {
  readonly options: Pick<AgentOptions, "callbacks" | "callbackOptions" | "metrics" | "observers">;
  /** Number of times that they were called in the run. */
  readonly countCalls: () => number;
}

type CreateObservers = (tokens: number) => Observers | Promise<Observers>;

const observeNothing: CreateObservers = () => ({ options: { metrics: false }, countCalls: () => 1 });

const observeMetrics: CreateObservers = () => {
  const metrics = new MetricsCollector();
  return { options: { metrics }, countCalls: () => metrics.summary().runs.completed };
};

const createCallbacks =
  (textDelta: boolean): CreateObservers =>
  (tokens) => {
    let calls = 0;
    const onEvent = async (): Promise<void> => void calls++;
    const callbacks = Array.from({ length: 3 }, (): Callback => ({ textDelta, onEvent }));
    const expected = textDelta ? 3 * tokens : 6;
    const options = { callbacks, callbackOptions: { maxBacklog: 1_000_000 }, metrics: false } as const;
    return { options, countCalls: () => (calls < expected ? 0 : calls) };
  };

const observeTraces: CreateObservers = async () => {
  let spans = 0;
  const done = (): Promise<void> => Promise.resolve();
  const onEnd = (): void => void spans++;
  const processor: SpanProcessor = { onStart: () => undefined, onEnd, forceFlush: done, shutdown: done };
  const tracerProvider = new BasicTracerProvider({ spanProcessors: [processor] });
  const observer = await createTraceObserver({ tracerProvider });
  return { options: { observers: [observer], metrics: false }, countCalls: () => spans };
};

const run =
  (createObservers: CreateObservers): Prepare =>
  (tokens) =>
  async () => {
    const log = new MemoryLog();
    const { options, countCalls } = await createObservers(tokens);
    const actor = agent({ model: new WordyModel(tokens), ...options });
    const session = await actor.openSession(log, "s");
    const { status } = await (await actor.answer(session, "Talk", { source: "stream" })).ended;
    await actor.flush(60_000);
    await session.close();
    await log.close();
    if (status !== "completed" || countCalls() === 0) throw new Error(`the run is ${status}, or was not observed`);
  };

const SIZES = [5000, 10_000, 20_000];
const limits = { "without observers": run(observeNothing) };
const createRow = (what: string, createObservers: CreateObservers): Row => ({
  what,
  unit: "token",
  sizes: SIZES,
  ours: run(createObservers),
  limits,
});

export const benchmark: Benchmark = {
  about: "CPU time that observers add to a run of an agent, in memory",
  rows: [
    createRow("metrics", observeMetrics),
    { ...createRow("three callbacks", createCallbacks(false)), isSlow: true },
    createRow("three callbacks that receive text deltas", createCallbacks(true)),
    createRow("traces", observeTraces),
  ],
};
