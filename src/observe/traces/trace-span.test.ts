import { InMemorySpanExporter, BasicTracerProvider, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { expect, it } from "vitest";
import { TraceSpan } from "./trace-span.ts";

it("ends once, not before its start, and ignores later calls", () => {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  const span = provider.getTracer("test").startSpan("a", { startTime: [5, 0] });
  let ends = 0;
  const end = span.end.bind(span);
  span.end = (time) => {
    ends++;
    end(time);
  };
  const open = new TraceSpan(span, 5000);
  open.addEvent("early", {}, 1000);
  open.end(1000);
  open.set("late", 1);
  open.fail("late");
  open.addEvent("late", {}, 9000);
  open.end(9000);
  expect(ends).toBe(1);
  const [ended] = exporter.getFinishedSpans();
  expect([ended?.startTime, ended?.endTime, ended?.attributes]).toEqual([[5, 0], [5, 0], {}]);
  expect(ended?.events.map(({ name, time }) => [name, time])).toEqual([["early", [5, 0]]]);
});
