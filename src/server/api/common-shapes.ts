/** Declares shapes: those shared by many operations, and those of the server status. */
import {
  count,
  type Fields,
  listOf,
  map,
  oneOf,
  optional,
  required,
  type Shape,
  string,
} from "../../protocol/schema.ts";

/** Declares a shape of the HTTP API: an object without a tag. */
export function declareShape(about: string, fields: Fields): Shape {
  return { section: "HTTP", about, fields };
}

export const COMMON_SHAPES = {
  Empty: declareShape("Empty object", {}),
  Problem: declareShape("Error response (RFC 9457)", {
    type: required(string, "Error code as a URN: `urn:loom:problem:…`"),
    title: required(string, "Error code in words"),
    status: required(count, "HTTP status"),
    detail: required(string, "Human-readable message"),
    code: required(string, "Error code"),
    id: required(string, "Id of the error in the server's log, or of the request"),
    details: optional(map, "Machine-readable details"),
  }),
} as const satisfies { readonly [name: string]: Shape };

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
