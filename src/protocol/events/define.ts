/** The shape of an event declaration. Types, forms, schemas, dialects and documentation are derived from it. */
import type { Shape } from "../schema.ts";

export interface EventDeclaration extends Shape {
  /** Key in the `export` dialect. Only types of 001 have one; extension types are sent there as `Custom`. */
  readonly exportKey?: string;
}

export const EXTENSION_SECTION = "001 §8";

export function defineEvent<const D extends EventDeclaration>(declaration: D): D {
  return declaration;
}
