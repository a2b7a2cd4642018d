/** Streams of foreign agents. */
import { count, listOf, objectOf, oneOf, optional, required, type Shape, string } from "../../protocol/schema.ts";
import { declareShape } from "./declare-shape.ts";

export const INGEST_SHAPES = {
  IngestQuery: declareShape("How a foreign stream is read", "外部流的读取方式", {
    dialect: optional(
      oneOf("auto", "loom", "export", "engine", "lumine", "stream-event"),
      "Dialect of the body; told from its first eight frames when absent or `auto`",
      "请求体的方言；缺省或 auto 时由前八帧判断",
    ),
    framing: optional(
      oneOf("auto", "ndjson", "sse"),
      "How its frames are cut; told from `Content-Type`, else from its first bytes, when absent or `auto`",
      "分帧方式；缺省或 auto 时由 Content-Type 或首字节判断",
    ),
    when_taken: optional(
      oneOf("rename", "refuse"),
      "For a run whose id the session has already: another id (default), or `run_exists`",
      "会话已有同名运行时：改名（默认）或以 run_exists 拒绝",
    ),
  }),
  IngestAnswer: declareShape("What became of a foreign stream", "外部流的写入结果", {
    session_id: required(string, "Id of the session", "会话 ID"),
    dialect: required(string, "Dialect it was read in", "所用方言"),
    frames: required(count, "Frames that were taken", "已接受的帧数"),
    runs: required(
      listOf(
        objectOf({
          run_id: required(string, "Id of the run, as it is stored", "运行 ID（存储所用）"),
          status: required(oneOf("live", "completed", "error", "cancelled"), "How it ended", "状态"),
          code: optional(string, "Why it did not complete", "未完成的原因代码"),
          first_event_id: required(count, "Its first record", "首条记录 ID"),
          last_event_id: required(count, "Its last record", "末条记录 ID"),
        }),
      ),
      "The runs, in the order they began",
      "各运行，按开始顺序",
    ),
    warnings: required(
      listOf(
        objectOf({
          line: required(count, "Line of the body, from 1", "请求体行号（从 1 起）"),
          rule: required(string, "The rule that is broken", "违反的规则"),
          message: required(string, "What is wrong, for people", "说明"),
        }),
      ),
      "Rules that should be kept and were not: the first hundred",
      "违反的建议性规则：前一百条",
    ),
    warning_count: required(count, "How many there were in all", "警告总数"),
  }),
} as const satisfies { readonly [name: string]: Shape };
