/** Shapes that many operations share. */
import { count, map, optional, required, type Shape, string } from "../../protocol/schema.ts";
import { declareShape } from "./declare-shape.ts";

export const COMMON_SHAPES = {
  Nothing: declareShape("Nothing", "无", {}),
  Problem: declareShape("No, and why", "拒绝及原因", {
    type: required(string, "The code as a name of its own: `urn:loom:problem:…`", "以 URN 表示的错误代码"),
    title: required(string, "The code in words", "错误代码的文字形式"),
    status: required(count, "The status of the answer", "HTTP 状态码"),
    detail: required(string, "For people", "错误信息"),
    code: required(string, "Error code", "错误代码"),
    id: required(
      string,
      "To be looked up in the server's log, or that of the request",
      "服务器日志中的错误 ID 或请求 ID",
    ),
    details: optional(map, "For programs", "详情"),
  }),
} as const satisfies { readonly [name: string]: Shape };
