/**
 * Generated from the declarations by `npm run generate`; edit those instead.
 * The types of what is asked and answered over HTTP, and the forms it is checked against.
 */
import { type Form, parseForm } from "../../protocol/form.ts";
import type { JsonObject } from "../../protocol/json.ts";

/** Nothing (HTTP). */
export interface Nothing {
}

/** No, and why (HTTP). */
export interface Refusal {
  /** Always `refusal` */
  readonly type: string;
  /** Error code */
  readonly code: string;
  /** For people */
  readonly message: string;
  /** For programs */
  readonly details?: JsonObject;
  /** To be looked up in the server's log */
  readonly error_id?: string;
}

/** From the name to its interface. */
export interface ApiShapeMap {
  readonly Nothing: Nothing;
  readonly Refusal: Refusal;
}

export type ApiShapeName = keyof ApiShapeMap;

export const API_FORMS: { readonly [N in ApiShapeName]: Form } = {
  Nothing: parseForm("HTTP#"),
  Refusal: parseForm("HTTP#type:s code:s message:s details?m error_id?s"),
};
