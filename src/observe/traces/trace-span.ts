/** Wraps an open span: it ends exactly once, and never before its start. */
import type { Attributes, AttributeValue, Span } from "@opentelemetry/api";
import { toHrTime } from "./gen-ai.ts";

/** Value of `SpanStatusCode.ERROR`; the package is loaded only on first use. */
const STATUS_ERROR = 2;

export class TraceSpan {
  readonly span: Span;
  readonly #startedAt: number;
  #isOpen = true;

  constructor(span: Span, startedAt: number) {
    this.span = span;
    this.#startedAt = startedAt;
  }

  set(name: string, value: AttributeValue | undefined): void {
    if (this.#isOpen && value !== undefined) this.span.setAttribute(name, value);
  }

  addEvent(name: string, attributes: Attributes, at: number): void {
    if (this.#isOpen) this.span.addEvent(name, attributes, toHrTime(Math.max(at, this.#startedAt)));
  }

  fail(message: string): void {
    if (this.#isOpen) this.span.setStatus({ code: STATUS_ERROR, message });
  }

  end(at: number): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.span.end(toHrTime(Math.max(at, this.#startedAt)));
  }
}
