/**
 * What is told as an event of a run's span: searches, prompts that were made to fit, and errors. It knows no span.
 */
import type { Attributes } from "@opentelemetry/api";
import type { EventOf, LoomEvent } from "../../protocol/index.ts";
import { mayQuoteContent } from "../logs/may-quote-content.ts";
import type { ContentWriter } from "./content-writer.ts";
import { GEN_AI, OTHER_ERROR } from "./gen-ai.ts";

export interface EventWriter {
  cleanMessage(message: string): string;
  /** Undefined unless contents are wanted. */
  readonly content: ContentWriter | undefined;
}

interface FormedEvent {
  readonly name: string;
  readonly attributes: Attributes;
}

/** Undefined for what is told otherwise, or not at all. */
export function formEvent(event: LoomEvent, writer: EventWriter): FormedEvent | undefined {
  switch (event.type) {
    case "retrieval_complete":
      return {
        name: "loom.retrieval",
        attributes: { "loom.retrieval.doc_count": event.doc_count, ...writer.content?.formRetrieval(event) },
      };
    case "compression_applied":
      return { name: "loom.compression", attributes: formCompression(event) };
    case "error":
      return { name: "loom.error", attributes: formError(event, writer) };
    default:
      return undefined;
  }
}

/** Of a failure. Undefined where it may quote contents and nobody wants these. */
export function formFailure(
  writer: EventWriter,
  message: string | undefined,
  code: string | undefined,
  stage?: string,
): string | undefined {
  if (message === undefined || (writer.content === undefined && mayQuoteContent(code, stage))) return undefined;
  return writer.cleanMessage(message);
}

function formCompression(event: EventOf<"compression_applied">): Attributes {
  return {
    "loom.compression.before_tokens": event.before_tokens,
    "loom.compression.after_tokens": event.after_tokens,
    ...(event.method === undefined ? {} : { "loom.compression.method": event.method }),
    ...(event.covered_messages === undefined ? {} : { "loom.compression.messages": event.covered_messages }),
  };
}

function formError({ message, code, stage, call_id, details }: EventOf<"error">, writer: EventWriter): Attributes {
  const told = formFailure(writer, message, code, stage);
  const errorId = details?.["error_id"];
  return {
    [GEN_AI.errorType]: code ?? OTHER_ERROR,
    ...(told === undefined ? {} : { "loom.error.message": told }),
    ...(typeof errorId === "string" ? { "loom.error.id": writer.cleanMessage(errorId) } : {}),
    ...(stage === undefined ? {} : { "loom.error.stage": stage }),
    ...(call_id === undefined ? {} : { [GEN_AI.callId]: call_id }),
  };
}
