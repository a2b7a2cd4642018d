/** Shapes that many operations share. */
import { map, optional, required, type Shape, string } from "../../protocol/schema.ts";
import { declareShape } from "./declare-shape.ts";

export const COMMON_SHAPES = {
  Nothing: declareShape("Nothing", "无", {}),
  Refusal: declareShape("No, and why", "拒绝及原因", {
    type: required(string, "Always `refusal`", "固定为 refusal"),
    code: required(string, "Error code", "错误代码"),
    message: required(string, "For people", "错误信息"),
    details: optional(map, "For programs", "详情"),
    error_id: optional(string, "To be looked up in the server's log", "服务器日志中的错误 ID"),
  }),
} as const satisfies { readonly [name: string]: Shape };
