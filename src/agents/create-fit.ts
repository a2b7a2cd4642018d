/** Has prompts of one run fitted to the model, and writes into the log what was done to them. */
import type { Compressor, FitOptions } from "../context/compression/compressor.ts";
import type { ThinkCallOptions } from "./think.ts";

export function createFit(
  compressor: Compressor,
  { readEarlier, ...options }: Omit<FitOptions, "signal">,
): NonNullable<ThinkCallOptions["fit"]> {
  // Once: what this run's prompts come to afterwards, the compressor knows itself.
  let earlier: ReturnType<NonNullable<typeof readEarlier>> | undefined;
  return async (prompt, { span, signal }) => {
    const { messages, events } = await compressor.fit(prompt, {
      ...options,
      signal,
      ...(readEarlier === undefined ? {} : { readEarlier: () => (earlier ??= readEarlier()) }),
    });
    for (const event of events) void span.emit(event);
    return messages;
  };
}
