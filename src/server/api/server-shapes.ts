/** Shapes of the server status. */
import { listOf, oneOf, required, type Shape, string } from "../../protocol/schema.ts";
import { declareShape } from "./declare-shape.ts";

export const SERVER_SHAPES = {
  Health: declareShape("Health of the process", {
    status: required(oneOf("ok"), "Always `ok`"),
  }),
  Readiness: declareShape("Readiness of the server", {
    status: required(oneOf("ready", "not_ready"), "Whether the server is ready for requests"),
    reasons: required(listOf(string), "Reasons why it is not ready, and what works only in part"),
  }),
  Version: declareShape("Version of the server", {
    name: required(string, "Name of the package"),
    version: required(string, "Version of the package"),
    dialects: required(listOf(string), "Supported dialects"),
  }),
} as const satisfies { readonly [name: string]: Shape };
