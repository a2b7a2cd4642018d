/**
 * The form of an event's one declaration. Everything else that is known of an event is derived from it.
 */
import type { Shape } from "../schema.ts";

export interface EventDeclaration extends Shape {
  /** Its key in the single-key `export` form, for the types of 001; types of ours travel there as `Custom`. */
  readonly exportKey?: string;
}

export const OURS = "001 §8";

export function defineEvent<const D extends EventDeclaration>(declaration: D): D {
  return declaration;
}
