// The real OpenTelemetry SDK with an in-memory exporter, and a tracer that counts how often each span is started and
// ended.
import type { Context, Span, SpanOptions } from "@opentelemetry/api";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  type Sampler,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { expect } from "vitest";
import { createTraceObserver, type Observer, type TraceOptions } from "../../src/observe/index.ts";

export interface SpanRecorder {
  readonly observer: Observer;
  readonly provider: BasicTracerProvider;
  /** Finished spans in the order of their ends. Checks that every started span has ended exactly once. */
  readSpans(): readonly ReadableSpan[];
  /** Spans that were started and have not ended. */
  countOpen(): number;
  readonly started: number;
}

export async function recordSpans(options: TraceOptions = {}, sampler?: Sampler): Promise<SpanRecorder> {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({
    spanProcessors: [new SimpleSpanProcessor(exporter)],
    ...(sampler === undefined ? {} : { sampler }),
  });
  const real = provider.getTracer("test");
  const ends = new Map<Span, number>();
  const tracer = {
    startSpan(name: string, spanOptions?: SpanOptions, context?: Context): Span {
      const span = real.startSpan(name, spanOptions, context);
      ends.set(span, 0);
      const end = span.end.bind(span);
      span.end = (time) => {
        ends.set(span, (ends.get(span) ?? 0) + 1);
        end(time);
      };
      return span;
    },
  };
  const observer = await createTraceObserver({ tracerProvider: { getTracer: () => tracer }, ...options });
  return {
    observer,
    provider,
    get started() {
      return ends.size;
    },
    countOpen: () => [...ends.values()].filter((count) => count === 0).length,
    readSpans() {
      expect([...ends.values()].filter((count) => count !== 1)).toEqual([]);
      const spans = exporter.getFinishedSpans();
      const ids = new Set(spans.map((span) => span.spanContext().spanId));
      for (const span of spans) {
        expect(toMs(span.endTime)).toBeGreaterThanOrEqual(toMs(span.startTime));
        const { parentSpanContext: parent } = span;
        if (/^(?:chat|execute_tool)/.test(span.name)) expect(ids.has(parent?.spanId ?? "none")).toBe(true);
      }
      return spans;
    },
  };
}

export function toMs([seconds, nanos]: readonly [number, number]): number {
  return seconds * 1000 + nanos / 1e6;
}

/** The stable parts of spans: name, name of the parent, status, and some attributes. */
export function outlineSpans(
  spans: readonly ReadableSpan[],
  ...attributes: readonly string[]
): readonly (readonly unknown[])[] {
  const names = new Map(spans.map((span) => [span.spanContext().spanId, span.name]));
  return spans.map(({ name, parentSpanContext, status, attributes: all }) => [
    name,
    parentSpanContext === undefined ? undefined : (names.get(parentSpanContext.spanId) ?? "elsewhere"),
    ["unset", "ok", "error"][status.code],
    ...attributes.map((attribute) => all[attribute]),
  ]);
}
