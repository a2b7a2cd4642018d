/** Has prompts of one run fitted to the model, and writes into the log what was done to them, as it is done. */
import type { Compressor, FitOptions } from "../context/compression/compressor.ts";
import type { ThinkCallOptions } from "./think.ts";

export function createFit(
  compressor: Compressor,
  { readEarlier, ...options }: Omit<FitOptions, "signal" | "onEvent">,
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
  return async (prompt, { span, signal }) => {
    const { messages } = await compressor.fit(prompt, {
      ...options,
      signal,
      // A run that is over takes no more, and nothing of this prompt is needed any more.
      onEvent: (event) => void span.emit(event).catch(() => undefined),
      ...(readEarlier === undefined ? {} : { readEarlier: () => readOnce(readEarlier) }),
    });
    return messages;
  };
}
