/** Wraps an open span: it ends exactly once, and never before its start. */
import type { Attributes, AttributeValue, Span } from "@opentelemetry/api";
import type { ContentWriter } from "./content-writer.ts";
import { toHrTime } from "./gen-ai.ts";

/** What the spans of a run share. */
export interface SpanHost {
  readonly now: number;
  readonly sessionId: string;
  /** Undefined unless content capture is enabled. */
  readonly content: ContentWriter | undefined;
  /** Returns undefined if too many spans are open. */
  startSpan(name: string, isClient: boolean, attributes: Attributes): TraceSpan | undefined;
  /** Adds an event to the span of the run. */
  addEvent(name: string, attributes: Attributes): void;
  /** Returns the message of a failure; undefined if it may quote contents and content capture is off. */
  describeFailure(message: string | undefined, code: string | undefined, stage?: string): string | undefined;
}

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
