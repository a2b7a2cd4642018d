/** Has prompts of one run fitted to the model, and writes into the log what was done to them, as it is done. */
import type { Compressor, FitOptions } from "../context/compression/compressor.ts";
import type { ThinkCallOptions } from "./think.ts";

export function createFit(
  compressor: Compressor,
  { readEarlier, ...options }: Omit<FitOptions, "signal" | "onEvent" | "createCallId">,
): NonNullable<ThinkCallOptions["fit"]> {
  // Once, unless it failed: what this run's prompts come to afterwards, the compressor knows itself.
  let earlier: ReturnType<NonNullable<typeof readEarlier>> | undefined;
  const readOnce = async (read: NonNullable<typeof readEarlier>) => {
    const reading = (earlier ??= read());
    try {
      return await reading;
    } catch (error) {
      if (earlier === reading) earlier = undefined;
      throw error;
    }
  };
  let summaries = 0;
  return async (prompt, { span, signal }) => {
    const { messages } = await compressor.fit(prompt, {
      ...options,
      signal,
      createCallId: () => `${span.nodeId}.summary.${++summaries}`,
      onEvent: async (event) => {
        const written = span.emit(event);
        // The model is asked when it is durable that it is. A run that is over takes no more, and needs none of it.
        await (event.type === "llm_start" ? written : written.catch(() => undefined));
      },
      ...(readEarlier === undefined ? {} : { readEarlier: () => readOnce(readEarlier) }),
    });
    return messages;
  };
}
