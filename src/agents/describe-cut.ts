/** What is said of a text that the model has not ended by itself. */
import type { FinishReason } from "../models/model.ts";
import type { ErrorEvent } from "../protocol/index.ts";

const CUT: { readonly [K in FinishReason]?: string } = {
  length: "the text was cut: the model has reached its limit of output tokens",
  content_filter: "the text was stopped by the provider's content filter",
};

/** Undefined where it is whole. */
export function describeCut(finishReason: FinishReason, stage: string): ErrorEvent | undefined {
  const message = CUT[finishReason];
  if (message === undefined) return undefined;
  return { type: "error", message, code: "model_failed", stage, recoverable: true };
}
