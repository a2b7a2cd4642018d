/** Has prompts of one run fitted to the model, and writes into the log what was done to them. */
import type { Compressor, FitOptions } from "../context/compression/compressor.ts";
import type { ThinkCallOptions } from "./think.ts";

export function createFit(
  compressor: Compressor,
  options: Pick<FitOptions, "sessionId" | "model" | "earlier">,
): NonNullable<ThinkCallOptions["fit"]> {
  return async ({ messages, tools }, { span, signal }) => {
    const fitted = await compressor.fit(tools === undefined ? { messages } : { messages, tools }, {
      ...options,
      signal,
    });
    for (const event of fitted.events) void span.emit(event);
    return fitted.messages;
  };
}
