/** How events are declared. Types, forms, schemas, dialects and documentation are derived from the declarations. */
import type { Shape } from "../schema.ts";

export interface EventDeclaration extends Shape {
  /** Key in the `export` dialect. Only types of 001 §4.2 have one; extension types are sent there as `Custom`. */
  readonly exportKey?: string;
}

type Declared<D> = D & { readonly section: string };

/** Declares a type of 001 §4.2. */
export function defineEvent<const D extends Omit<EventDeclaration, "section"> & { readonly exportKey: string }>(
  declaration: D,
): Declared<D> {
  return { section: "001 §4.2", ...declaration };
}

/** Declares an extension type, which 001 §8 allows. */
export function defineExtension<const D extends Omit<Shape, "section">>(declaration: D): Declared<D> {
  return { section: "001 §8", ...declaration };
}
