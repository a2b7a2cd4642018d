/** Converts events that make up a complete message part. */
import type { EventOf } from "../../protocol/index.ts";
import type { DataBlock, DataPart, ErrorPart, ImagePart, MessagePart, Reference, ReferencesPart } from "../view.ts";
import { makeView } from "./with-fields.ts";

/** A part without the fields that the message assigns. */
export type PartContent<P extends MessagePart = MessagePart> = P extends MessagePart
  ? Omit<P, "key" | "nodeKey">
  : never;

export type SinglePartEvent = EventOf<"data" | "image" | "error" | "retrieval_complete">;

export function createPartContent(event: SinglePartEvent, maxSources: number): PartContent {
  switch (event.type) {
    case "data": {
      const { data_type, data, metadata } = event;
      return {
        type: "data",
        block: makeView<DataBlock>({ dataType: data_type, data, metadata }),
      } satisfies PartContent<DataPart>;
    }
    case "image": {
      const { url, media_type, alt } = event;
      return makeView<PartContent<ImagePart>>({ type: "image", url, mediaType: media_type, alt });
    }
    case "error": {
      const { message, code, stage, error_type, recoverable, call_id, details } = event;
      return makeView<PartContent<ErrorPart>>({
        type: "error",
        message,
        code,
        stage,
        errorType: error_type,
        recoverable,
        callId: call_id,
        details,
      });
    }
    default: {
      const { query, doc_count, sources = [] } = event;
      return makeView<PartContent<ReferencesPart>>({
        type: "references",
        query,
        docCount: doc_count,
        sources: sources
          .slice(0, maxSources)
          .map(({ first_line: firstLine, last_line: lastLine, ...rest }) =>
            makeView<Reference>({ ...rest, firstLine, lastLine }),
          ),
      });
    }
  }
}
