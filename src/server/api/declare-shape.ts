/** Declares a shape of the HTTP API: an object without a tag. */
import type { Fields, Shape } from "../../protocol/schema.ts";

export function declareShape(en: string, zh: string, fields: Fields): Shape {
  return { section: "HTTP", about: { en, zh }, fields };
}
