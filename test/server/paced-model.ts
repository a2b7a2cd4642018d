// A scripted model whose stream parts are paced by the test.
import type { LanguageModel } from "../../src/models/index.ts";
import type { Script } from "../../src/models/scripted-model.ts";
import { ScriptedModel } from "../../src/models/testing.ts";

/** Resolves when the next part may be sent. */
export type Pace = (part: number) => Promise<unknown> | undefined;

export interface PacedModelOptions {
  /** Characters per delta. */
  readonly chunk?: number;
}

export function createPacedModel(script: Script, pace: Pace, { chunk }: PacedModelOptions = {}): LanguageModel {
  const model = new ScriptedModel(script, { maxRequests: 1, ...(chunk === undefined ? {} : { chunk }) });
  const { specificationVersion, provider, modelId } = model;
  return {
    specificationVersion,
    provider,
    modelId,
    async doStream(request: Parameters<typeof model.doStream>[0]) {
      const { stream } = await model.doStream(request);
      let count = 0;
      const paced = new TransformStream({
        async transform(part, controller) {
          await pace(count++);
          controller.enqueue(part);
        },
      });
      return { stream: stream.pipeThrough(paced) };
    },
  };
}
