/** Creates the function that fits the prompts of one run to the model and records each compression. */
import type { FitOptions } from "../context/compression/compression-context.ts";
import type { Compressor } from "../context/compression/compressor.ts";
import type { ContentRecorder } from "./content-recorder.ts";
import type { AgentContext } from "./agent-kind.ts";

export function createFit(
  compressor: Compressor,
  {
    readEarlier,
    recorder,
    ...options
  }: Omit<FitOptions, "signal" | "emit" | "createCallId" | "onCall"> & {
    readonly recorder?: ContentRecorder | undefined;
  },
): NonNullable<AgentContext["fit"]> {
  // Read once, unless it fails; the compressor itself tracks what happens later in this run.
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
  return async (prompt, { span, post, signal }) =>
    compressor.fit(prompt, {
      ...options,
      signal,
      createCallId: () => `${span.nodeId}.summary.${++summaries}`,
      emit: async (event) => {
        const written = span.emit(event);
        // The summary model is called after its `llm_start` is durable. Writing the other events may fail if the run
        // has ended.
        await (event.type === "llm_start" ? written : written.catch(() => undefined));
      },
      onCall: ({ callId, model, request, text }) => {
        if (text === undefined) recorder?.request(post, callId, model, request);
        else recorder?.response(post, callId, { role: "assistant", content: [{ type: "text", text }] });
      },
      ...(readEarlier === undefined ? {} : { readEarlier: () => readOnce(readEarlier) }),
    });
}
