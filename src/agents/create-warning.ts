/** Error events that do not end the run. */
import type { FinishReason, LanguageModel } from "../models/model.ts";
import { formatModel } from "../models/model-fault.ts";
import type { ErrorCode } from "../protocol/index.ts";
import type { ErrorEvent } from "../protocol/events.generated.ts";

export function createWarning(message: string, stage: string, code: ErrorCode = "model_output_invalid"): ErrorEvent {
  return { type: "error", message, code, stage, recoverable: true };
}

const CUT: { readonly [K in FinishReason]?: string } = {
  length: "The text is incomplete: the model reached its limit of output tokens",
  content_filter: "The text is incomplete: the provider's content filter stopped it",
};

/** Warns of model output that ended early. Undefined if it is complete. */
export function describeCut(finishReason: FinishReason, stage: string): ErrorEvent | undefined {
  const message = CUT[finishReason];
  return message === undefined ? undefined : createWarning(message, stage, "model_output_cut");
}

export function describeEmpty(model: LanguageModel, finishReason: FinishReason, stage: string): ErrorEvent {
  const message = `${formatModel(model)} returned an empty answer (finish reason: ${finishReason})`;
  return createWarning(message, stage, "model_empty");
}
