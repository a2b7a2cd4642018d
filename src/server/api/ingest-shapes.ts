/** Shapes of ingested streams. */
import { DIALECT_NAMES } from "../../dialects/dialect.ts";
import { count, listOf, objectOf, oneOf, optional, required, type Shape, string } from "../../protocol/schema.ts";
import { declareShape } from "./declare-shape.ts";

export const INGEST_SHAPES = {
  IngestQuery: declareShape("How to read a foreign stream", "外部流的读取方式", {
    dialect: optional(
      oneOf("auto", ...DIALECT_NAMES),
      "Dialect of the body; default `auto`: detected from the first eight frames",
      "请求体的方言；默认 auto，根据前八帧判断",
    ),
    framing: optional(
      oneOf("auto", "ndjson", "sse"),
      "Framing of the body; default `auto`: from `Content-Type`, otherwise from the first bytes",
      "请求体的分帧方式；默认 auto，根据 Content-Type 或开头的字节判断",
    ),
    when_taken: optional(
      oneOf("rename", "refuse"),
      "If the session already has a run with the same id: store it under another id (`rename`, default) or reject it with `run_exists` (`refuse`)",
      "会话中已有相同 ID 的运行时的处理方式：rename（默认）改用其他 ID 存储；refuse 拒绝（错误码 run_exists）",
    ),
  }),
  IngestResult: declareShape("Result of an ingest", "接入结果", {
    session_id: required(string, "Id of the session", "会话 ID"),
    dialect: required(string, "Dialect of the stream", "流的方言"),
    frames: required(count, "Number of accepted frames", "已接受的帧数"),
    runs: required(
      listOf(
        objectOf({
          run_id: required(string, "Id under which the run is stored", "存储所用的运行 ID"),
          status: required(oneOf("live", "completed", "error", "cancelled"), "Status of the run", "运行状态"),
          code: optional(string, "Error code of a run that did not complete", "未完成时的错误码"),
          first_event_id: required(count, "Id of its first record", "首条记录 ID"),
          last_event_id: required(count, "Id of its last record", "末条记录 ID"),
        }),
      ),
      "Runs in the order they started",
      "运行列表，按开始顺序排列",
    ),
    warnings: required(
      listOf(
        objectOf({
          line: required(count, "Line of the body, from 1", "请求体中的行号，从 1 开始"),
          rule: required(string, "Violated rule", "违反的规则"),
          message: required(string, "Human-readable message", "供人阅读的说明"),
        }),
      ),
      "Violations of recommended rules; at most the first 100",
      "违反的建议性规则，最多列出前 100 条",
    ),
    warning_count: required(count, "Total number of warnings", "警告总数"),
  }),
} as const satisfies { readonly [name: string]: Shape };
