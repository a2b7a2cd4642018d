/** Shapes shared by many operations. */
import { count, map, optional, required, type Shape, string } from "../../protocol/schema.ts";
import { declareShape } from "./declare-shape.ts";

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
