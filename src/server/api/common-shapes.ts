/** Shapes shared by many operations. */
import { count, map, optional, required, type Shape, string } from "../../protocol/schema.ts";
import { declareShape } from "./declare-shape.ts";

export const COMMON_SHAPES = {
  Empty: declareShape("Empty object", "空对象", {}),
  Problem: declareShape("Error response (RFC 9457)", "错误响应（RFC 9457）", {
    type: required(string, "Error code as a URN: `urn:loom:problem:…`", "URN 形式的错误码"),
    title: required(string, "Error code in words", "错误码的文字形式"),
    status: required(count, "HTTP status", "HTTP 状态码"),
    detail: required(string, "Human-readable message", "供人阅读的错误信息"),
    code: required(string, "Error code", "错误码"),
    id: required(string, "Id of the error in the server's log, or of the request", "服务器日志中的错误 ID，或请求 ID"),
    details: optional(map, "Machine-readable details", "供程序使用的详细信息"),
  }),
} as const satisfies { readonly [name: string]: Shape };
