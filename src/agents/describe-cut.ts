/** Warnings about model output that ended early or is empty. */
import type { FinishReason, LanguageModel } from "../models/model.ts";
import type { ErrorEvent } from "../protocol/events.generated.ts";

const CUT: { readonly [K in FinishReason]?: string } = {
  length: "The text is incomplete: the model reached its limit of output tokens",
  content_filter: "The text is incomplete: the provider's content filter stopped it",
};

/** Undefined if the output is complete. */
export function describeCut(finishReason: FinishReason, stage: string): ErrorEvent | undefined {
  const message = CUT[finishReason];
  if (message === undefined) return undefined;
  return { type: "error", message, code: "model_output_cut", stage, recoverable: true };
}

export function describeEmpty(model: LanguageModel, finishReason: FinishReason, stage: string): ErrorEvent {
  const message = `${model.provider}/${model.modelId} returned an empty answer (finish reason: ${finishReason})`;
  return { type: "error", message, code: "model_empty", stage, recoverable: true };
}
