/** A span that is open, and ends once whatever happens. Its end never lies before its start. */
import type { Attributes, AttributeValue, Span } from "@opentelemetry/api";
import { toHrTime } from "./gen-ai.ts";

/** The value of `SpanStatusCode.ERROR`: the package of the interface may not be there. */
const STATUS_ERROR = 2;

export class OpenSpan {
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

  tell(name: string, attributes: Attributes, at: number): void {
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
