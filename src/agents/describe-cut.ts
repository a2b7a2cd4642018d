/** Warnings about model output that ended early. */
import type { FinishReason } from "../models/model.ts";
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
