/** Creates the events on the span of a run: retrievals, compressed prompts and errors. It does not know spans. */
import type { Attributes } from "@opentelemetry/api";
import { dropUndefined } from "../../protocol/drop-undefined.ts";
import type { EventOf, LoomEvent } from "../../protocol/index.ts";
import { mayQuoteContent } from "../logs/may-quote-content.ts";
import type { ContentWriter } from "./content-writer.ts";
import { GEN_AI, OTHER_ERROR } from "./gen-ai.ts";

export interface EventWriter {
  cleanMessage(message: string): string;
  /** Undefined unless content capture is enabled. */
  readonly content: ContentWriter | undefined;
}

interface SpanEvent {
  readonly name: string;
  readonly attributes: Attributes;
}

/** Returns undefined for events that are not span events. */
export function createSpanEvent(event: LoomEvent, writer: EventWriter): SpanEvent | undefined {
  switch (event.type) {
    case "retrieval_complete":
      return {
        name: "loom.retrieval",
        attributes: { "loom.retrieval.doc_count": event.doc_count, ...writer.content?.describeRetrieval(event) },
      };
    case "compression_applied":
      return { name: "loom.compression", attributes: describeCompression(event) };
    case "error":
      return { name: "loom.error", attributes: describeError(event, writer) };
    default:
      return undefined;
  }
}

/** Returns the message of a failure; undefined if it may quote contents and content capture is off. */
export function createFailureMessage(
  writer: EventWriter,
  message: string | undefined,
  code: string | undefined,
  stage?: string,
): string | undefined {
  if (message === undefined || (writer.content === undefined && mayQuoteContent(code, stage))) return undefined;
  return writer.cleanMessage(message);
}

function describeCompression(event: EventOf<"compression_applied">): Attributes {
  return dropUndefined({
    "loom.compression.before_tokens": event.before_tokens,
    "loom.compression.after_tokens": event.after_tokens,
    "loom.compression.method": event.method,
    "loom.compression.messages": event.covered_messages,
  });
}

function describeError({ message, code, stage, call_id, details }: EventOf<"error">, writer: EventWriter): Attributes {
  const safeMessage = createFailureMessage(writer, message, code, stage);
  const errorId = details?.["error_id"];
  return dropUndefined({
    [GEN_AI.errorType]: code ?? OTHER_ERROR,
    "loom.error.message": safeMessage,
    ...(typeof errorId === "string" ? { "loom.error.id": writer.cleanMessage(errorId) } : {}),
    "loom.error.stage": stage,
    ...(call_id === undefined ? {} : { [GEN_AI.callId]: call_id }),
  });
}
