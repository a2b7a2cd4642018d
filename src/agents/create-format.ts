/** Creates the format of a structured answer: an object whose fields are all required, as strict providers demand. */
import type { LanguageModel, ModelRequest } from "../models/model.ts";
import { isRefused, STRUCTURED_OUTPUT } from "../models/refused-features.ts";
import type { JsonObject } from "../protocol/index.ts";

export type AnswerFormat = NonNullable<ModelRequest["responseFormat"]>;

export function createFormat(name: string, properties: { readonly [field: string]: JsonObject }): AnswerFormat {
  return { name, schema: describeObject(properties) };
}

/** Like `createFormat`, with a first field for the reasoning that leads to the values. */
export function createReasonedFormat(name: string, properties: { readonly [field: string]: JsonObject }): AnswerFormat {
  return createFormat(name, { why: { type: "string", description: "Brief reasoning" }, ...properties });
}

export function describeObject(properties: { readonly [field: string]: JsonObject }): JsonObject {
  return { type: "object", properties, required: Object.keys(properties), additionalProperties: false };
}

/** False if the provider of the model has recently rejected a format. */
export function hasStructuredOutput(model: LanguageModel): boolean {
  return !isRefused(model, STRUCTURED_OUTPUT);
}
