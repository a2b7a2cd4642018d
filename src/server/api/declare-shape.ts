/** Declares a shape of the HTTP API: an object without a tag. */
import type { Fields, Shape } from "../../protocol/schema.ts";

export function declareShape(about: string, fields: Fields): Shape {
  return { section: "HTTP", about, fields };
}
