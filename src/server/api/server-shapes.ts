/** Shapes of the server status. */
import { listOf, oneOf, required, type Shape, string } from "../../protocol/schema.ts";
import { declareShape } from "./declare-shape.ts";

export const SERVER_SHAPES = {
  Health: declareShape("Health of the process", "进程状态", {
    status: required(oneOf("ok"), "Always `ok`", "固定为 ok"),
  }),
  Readiness: declareShape("Readiness of the server", "服务器就绪状态", {
    status: required(oneOf("ready", "not_ready"), "Whether the server is ready for requests", "是否可以处理请求"),
    reasons: required(
      listOf(string),
      "Reasons why it is not ready, and what works only in part",
      "未就绪的原因，以及仅部分可用的功能",
    ),
  }),
  Version: declareShape("Version of the server", "服务器版本", {
    name: required(string, "Name of the package", "软件包名称"),
    version: required(string, "Version of the package", "软件包版本"),
    dialects: required(listOf(string), "Supported dialects", "支持的方言"),
  }),
} as const satisfies { readonly [name: string]: Shape };
