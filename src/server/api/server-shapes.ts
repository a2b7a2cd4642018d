/** The server itself. */
import { listOf, oneOf, required, type Shape, string } from "../../protocol/schema.ts";
import { declareShape } from "./declare-shape.ts";

export const SERVER_SHAPES = {
  Health: declareShape("The server lives", "服务器存活", {
    status: required(oneOf("ok"), "Always `ok`", "固定为 ok"),
  }),
  Readiness: declareShape("Whether the server takes work", "服务器是否可接受请求", {
    status: required(oneOf("ready", "not_ready"), "Whether it does", "是否就绪"),
    reasons: required(listOf(string), "Why not; empty where it does", "未就绪的原因；就绪时为空"),
  }),
  Version: declareShape("What runs here", "运行版本", {
    name: required(string, "Name of the package", "软件包名称"),
    version: required(string, "Version of the package", "软件包版本"),
    dialects: required(listOf(string), "Dialects that are spoken", "支持的方言"),
  }),
} as const satisfies { readonly [name: string]: Shape };
