/**
 * Exports runs as OpenTelemetry spans according to the conventions for generative AI: `invoke_agent` for a run, `chat`
 * for a model call, `execute_tool` for a tool. Uses only `@opentelemetry/api`; the SDK of the program decides where
 * spans go.
 *
 * Without an SDK, or if a run is not sampled, its records are ignored.
 */
import type { Context, Span, SpanContext, Tracer } from "@opentelemetry/api";
import { BoundedMap } from "../../protocol/bounded-map.ts";
import { assertLimit } from "../assert-limit.ts";
import { loadPackage } from "../../protocol/load-package.ts";
import { createRedactor, type RedactOptions } from "../logs/create-redactor.ts";
import { INERT, keyOfRun, type Observer, UNOBSERVED } from "../observer.ts";
import { ContentWriter } from "./content-writer.ts";
import { TraceRun } from "./trace-run.ts";

/** A `Tracer` of `@opentelemetry/api`, declared here so that its types are not needed. */
export interface TracerLike {
  startSpan(name: string, options?: object, context?: object): object;
}

/** A `TracerProvider` of `@opentelemetry/api`. */
export interface TracerProviderLike {
  getTracer(name: string, version?: string): TracerLike;
}

/** Options of `createTraceObserver`. */
export interface TraceOptions {
  /** Provider of the tracer that creates the spans. Default: the globally registered one, which may be registered later. */
  readonly tracerProvider?: TracerProviderLike;
  /** Whether to record prompts, answers, arguments, results, and errors that may quote them. Default: false. */
  readonly captureContent?: boolean;
  /** Value of `gen_ai.agent.name`. Default: the agent of the run. */
  readonly agentName?: string;
  /** Additional names and patterns of secrets. Known ones are always redacted. */
  readonly redact?: RedactOptions;
  /** Maximum characters of an attribute with content; longer values are cut. Default: 8,000. */
  readonly maxContentCharacters?: number;
  /** Maximum open spans per run. Further ones are counted in `loom.dropped.spans`. Default: 1,000. */
  readonly maxOpenSpans?: number;
}

const TRACER_NAME = "loom-agent";
const MAX_MESSAGE = 500;
/** Expected runs, and unfinished runs, remembered for parent spans and links; the oldest are forgotten. */
const MAX_RUNS = 1000;

const IGNORED: ReadonlySet<string> = new Set(UNOBSERVED);

/**
 * Creates an observer that exports runs as spans. Pass it to an agent or server in `observers`. Throws
 * `missing_package` if `@opentelemetry/api` is not installed.
 *
 * ```ts
 * const traces = await createTraceObserver({ captureContent: true });
 * const helper = agent({ model, observers: [traces] });
 * ```
 */
export async function createTraceObserver(options: TraceOptions = {}): Promise<Observer> {
  const { captureContent = false, agentName, maxContentCharacters = 8000, maxOpenSpans = 1000 } = options;
  assertLimit("maxContentCharacters", maxContentCharacters, 0);
  assertLimit("maxOpenSpans", maxOpenSpans, 0);
  const { context, ROOT_CONTEXT, trace } = await loadPackage(
    "@opentelemetry/api",
    "to trace runs",
    () => import("@opentelemetry/api"),
  );
  const tracer = (options.tracerProvider ?? trace).getTracer(TRACER_NAME) as Tracer;
  const redactor = createRedactor(options.redact);
  const expected = new BoundedMap<Context>(MAX_RUNS);
  const previousSpans = new BoundedMap<SpanContext>(MAX_RUNS);
  const common = {
    tracer,
    agentName,
    maxOpenSpans,
    root: ROOT_CONTEXT,
    enter: (parent: Context, span: Span) => trace.setSpan(parent, span),
    enterRemote: (parent: SpanContext) => trace.setSpanContext(ROOT_CONTEXT, parent),
    cleanMessage: (message: string) => redactor.cleanText(message, MAX_MESSAGE),
  };
  return {
    name: "traces",
    ignores: IGNORED,
    expectRun(run) {
      const active = context.active();
      if (active !== ROOT_CONTEXT) expected.set(keyOfRun(run), active);
    },
    openRun(run) {
      if (run.runId === undefined) return INERT;
      const key = keyOfRun(run);
      return new TraceRun(run, {
        ...common,
        takeExpectedContext: () => takeOut(expected, key),
        takePreviousSpan: () => takeOut(previousSpans, key),
        keepPreviousSpan: (span) => previousSpans.set(key, span),
        content: captureContent ? new ContentWriter(redactor, maxContentCharacters) : undefined,
      });
    },
  };
}

function takeOut<V>(map: BoundedMap<V>, key: string): V | undefined {
  const value = map.get(key);
  if (value !== undefined) map.delete(key);
  return value;
}
