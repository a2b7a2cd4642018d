/** Shapes of ingested streams. */
import { DIALECT_NAMES } from "../../dialects/dialect.ts";
import { count, listOf, objectOf, oneOf, optional, required, type Shape, string } from "../../protocol/schema.ts";
import { declareShape } from "./common-shapes.ts";

export const INGEST_SHAPES = {
  IngestQuery: declareShape("How to read a foreign stream", {
    dialect: optional(
      oneOf("auto", ...DIALECT_NAMES),
      "Dialect of the body; default `auto`: detected from the first eight frames",
    ),
    framing: optional(
      oneOf("auto", "ndjson", "sse"),
      "Framing of the body; default `auto`: from `Content-Type`, otherwise from the first bytes",
    ),
    when_taken: optional(
      oneOf("rename", "refuse"),
      "If the session already has a run with the same id: store it under another id (`rename`, default) or reject it with `run_exists` (`refuse`)",
    ),
  }),
  IngestResult: declareShape("Result of an ingest", {
    session_id: required(string, "Id of the session"),
    dialect: required(string, "Dialect of the stream"),
    frames: required(count, "Number of accepted frames"),
    runs: required(
      listOf(
        objectOf({
          run_id: required(string, "Id under which the run is stored"),
          status: required(oneOf("live", "completed", "error", "cancelled"), "Status of the run"),
          code: optional(string, "Error code of a run that did not complete"),
          first_event_id: required(count, "Id of its first record"),
          last_event_id: required(count, "Id of its last record"),
        }),
      ),
      "Runs in the order they started",
    ),
    warnings: required(
      listOf(
        objectOf({
          line: required(count, "Line of the body, from 1"),
          rule: required(string, "Violated rule"),
          message: required(string, "Human-readable message"),
        }),
      ),
      "Violations of recommended rules; at most the first 100",
    ),
    warning_count: required(count, "Total number of warnings"),
  }),
} as const satisfies { readonly [name: string]: Shape };
