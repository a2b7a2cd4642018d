/**
 * Runs as OpenTelemetry spans, after the conventions for generative AI: `invoke_agent` for a run, `chat` for a model
 * call, `execute_tool` for a tool. Only the interface package is used; what becomes of the spans is the business of
 * whatever SDK the program has set up.
 *
 * Without an SDK, or where a run is not sampled, its records are not looked at.
 */
import type { Context, Span, SpanContext, Tracer } from "@opentelemetry/api";
import { BoundedMap, type EventType } from "../../protocol/index.ts";
import { assertLimit } from "../assert-limit.ts";
import { loadPackage } from "../../protocol/load-package.ts";
import { createRedactor, type RedactOptions } from "../logs/create-redactor.ts";
import { INERT, keyOfRun, type Observer } from "../observer.ts";
import { ContentWriter } from "./content-writer.ts";
import { TraceRun } from "./trace-run.ts";

/** A `Tracer` of `@opentelemetry/api`, in words that need no package. */
export interface TracerLike {
  startSpan(name: string, options?: object, context?: object): object;
}

/** A `TracerProvider` of `@opentelemetry/api`. */
export interface TracerProviderLike {
  getTracer(name: string, version?: string): TracerLike;
}

export interface TraceOptions {
  /** That of the provider when absent. */
  readonly tracer?: TracerLike;
  /** The one the program has registered when absent; it may be registered later. */
  readonly tracerProvider?: TracerProviderLike;
  /** Prompts, answers, arguments, results, and errors that may quote them; false when absent. */
  readonly captureContent?: boolean;
  /** `gen_ai.agent.name`; the kind of agent when absent. */
  readonly agentName?: string;
  /** More names and looks of secrets. */
  readonly redact?: RedactOptions;
  /** Of one attribute, cut beyond; 8000 when absent. */
  readonly maxContentCharacters?: number;
  /** Of one run, open at once; 1000 when absent. Those beyond are counted in `loom.dropped.spans`. */
  readonly maxOpenSpans?: number;
  /** Of the span of one run; 100 when absent. Those beyond are counted in `loom.dropped.events`. */
  readonly maxEvents?: number;
  /** Runs that were asked for and have not begun, and runs that were left; 1000 when absent, the oldest is forgotten. */
  readonly maxExpectedRuns?: number;
}

const TRACER_NAME = "loom-agent";
const MAX_MESSAGE = 500;

/** What comes by the thousand, or tells no trace anything. */
const IGNORED: ReadonlySet<string> = new Set<EventType>([
  "values",
  "updates",
  "checkpoint",
  "custom",
  "foreign",
  "node_enter",
  "reasoning_end",
  "tool_output",
  "tool_progress",
  "todo_list",
  "todo_update",
  "data",
  "image",
]);

/** Refused as `missing_package` where `@opentelemetry/api` is not installed. */
export async function createTraceObserver(options: TraceOptions = {}): Promise<Observer> {
  const { captureContent = false, agentName, maxContentCharacters = 8000, maxExpectedRuns = 1000 } = options;
  const { maxOpenSpans = 1000, maxEvents = 100 } = options;
  for (const [name, limit] of Object.entries({ maxContentCharacters, maxOpenSpans, maxEvents }))
    assertLimit(name, limit, 0);
  assertLimit("maxExpectedRuns", maxExpectedRuns, 1);
  const { context, ROOT_CONTEXT, trace } = await loadPackage(
    "@opentelemetry/api",
    "to trace runs",
    () => import("@opentelemetry/api"),
  );
  const tracer = (options.tracer ?? (options.tracerProvider ?? trace).getTracer(TRACER_NAME)) as Tracer;
  const redactor = createRedactor(options.redact);
  const expected = new BoundedMap<Context>(maxExpectedRuns);
  const left = new BoundedMap<SpanContext>(maxExpectedRuns);
  const common = {
    tracer,
    agentName,
    maxOpenSpans,
    maxEvents,
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
        takeExpected: () => takeOut(expected, key),
        takeLeft: () => takeOut(left, key),
        keepLeft: (span) => void left.set(key, span),
        content: captureContent ? new ContentWriter(redactor, maxContentCharacters) : undefined,
      });
    },
  };
}

function takeOut<V>(map: Map<string, V>, key: string): V | undefined {
  const value = map.get(key);
  if (value !== undefined) map.delete(key);
  return value;
}
