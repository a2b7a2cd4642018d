/** Fits a prompt outside of an agent. */
import type { FitEvent, FitOptions } from "../../src/context/compression/compression-context.ts";
import type { Compressor } from "../../src/context/compression/compressor.ts";
import type { Prompt } from "../../src/context/compression/prompt-tokens.ts";
import type { ModelMessage } from "../../src/models/model.ts";

export interface FittedPrompt {
  readonly messages: readonly ModelMessage[];
  readonly events: readonly FitEvent[];
}

/** All prompts of a compressor belong to one session, unless another one is given. */
export async function fitPrompt(
  compressor: Compressor,
  prompt: Prompt,
  options: Pick<FitOptions, "model"> & Partial<FitOptions>,
): Promise<FittedPrompt> {
  const events: FitEvent[] = [];
  let calls = 0;
  const messages = await compressor.fit(prompt, {
    session: compressor,
    signal: new AbortController().signal,
    createCallId: () => `summary.${++calls}`,
    ...options,
    emit: async (event) => {
      events.push(event);
      await options.emit?.(event);
    },
  });
  return { messages, events };
}
