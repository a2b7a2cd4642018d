/**
 * Agents for `loom serve --agents`: one that answers with the ID of its process, and waits after the first words until
 * the file that the message names exists.
 */
import { existsSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { agent } from "../../src/agents/index.ts";
import type { LanguageModel } from "../../src/models/index.ts";
import { ScriptedModel } from "../../src/models/testing.ts";

const scripted = new ScriptedModel(() => ({ text: `process ${process.pid} answers` }), { chunk: 1000 });
const { specificationVersion, provider, modelId } = scripted;

const model: LanguageModel = {
  specificationVersion,
  provider,
  modelId,
  async doStream(request: Parameters<typeof scripted.doStream>[0]) {
    const gate = /wait for (?<file>[\w./-]+)/.exec(JSON.stringify(request.prompt.at(-1)))?.groups?.["file"];
    const { stream } = await scripted.doStream(request);
    const gated = new TransformStream({
      async transform(part: { readonly type: string }, controller) {
        controller.enqueue(part);
        if (gate === undefined || part.type !== "text-delta") return;
        while (!existsSync(gate) && request.abortSignal?.aborted !== true) await pause(20);
      },
    });
    return { stream: stream.pipeThrough(gated) };
  },
};

export const SERVED = { gated: agent({ model }) };
