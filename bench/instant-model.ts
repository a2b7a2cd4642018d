/** A model that answers the prompts of agents that search, at once, and plans for them. */
import type { LanguageModel, ModelMessage } from "../src/models/model.ts";

export interface PlannedNode {
  readonly id: string;
  readonly task: string;
  readonly needs: readonly string[];
  readonly operation: string;
}

/** Layers in which each node needs two nodes of the previous layer, and one final node. */
export function createPlan(layers: number, width: number): readonly PlannedNode[] {
  const name = (layer: number, index: number): string => `n${layer}_${index % width}`;
  const nodes: PlannedNode[] = [];
  for (let layer = 0; layer < layers; layer++)
    for (let index = 0; index < width; index++) {
      const needs = layer === 0 ? [] : [name(layer - 1, index), name(layer - 1, index + 1)];
      nodes.push({ id: name(layer, index), task: `part ${index} of layer ${layer}`, needs, operation: "generate" });
    }
  const last = Array.from({ length: width }, (_, index) => name(layers - 1, index));
  // The final node replaces the last one, so that the plan has layers × width nodes.
  nodes.pop();
  nodes.push({ id: "end", task: "all of it", needs: last.slice(0, -1), operation: "aggregate" });
  return nodes;
}

/** Recognizes the kind of prompt and answers it. */
export class InstantModel implements LanguageModel {
  readonly specificationVersion = "v4";
  readonly provider = "bench";
  readonly modelId = "instant";
  readonly #plan: string;
  /** Thoughts that were written so far. */
  thoughts = 0;

  constructor(plan: readonly PlannedNode[] = []) {
    this.#plan = JSON.stringify({ nodes: plan });
  }

  async doStream({ prompt }: { readonly prompt: readonly ModelMessage[] }) {
    return { stream: createStream(this.#answer(textOf(prompt))) };
  }

  /** Reads the stream of one thought, as an agent does. */
  async read(): Promise<string> {
    const { stream } = await this.doStream({ prompt: [] });
    let text = "";
    for await (const part of stream) if (part.type === "text-delta") text += part.delta;
    return text;
  }

  #answer(text: string): string {
    if (text.includes('{"nodes"')) return this.#plan;
    if (text.includes('{"score"')) return `{"score": ${(text.length % 89) / 100 + 0.1}, "solved": false}`;
    const most = /at most (\d+)/.exec(text)?.[1];
    if (most !== undefined && text.includes('{"steps"')) {
      this.thoughts += Number(most);
      return JSON.stringify({ steps: Array.from({ length: Number(most) }, (_, n) => `step ${n} of ${text.length}`) });
    }
    this.thoughts += 1;
    return "a thought of a few words";
  }
}

function textOf(prompt: readonly ModelMessage[]): string {
  const last = prompt.at(-1);
  return last?.role === "user" ? last.content.map((part) => (part.type === "text" ? part.text : "")).join("") : "";
}

function createStream(text: string): ReadableStream<{ readonly type: string; readonly delta?: string }> {
  const parts = [
    { type: "stream-start", warnings: [] },
    { type: "text-start", id: "0" },
    { type: "text-delta", id: "0", delta: text },
    { type: "text-end", id: "0" },
    {
      type: "finish",
      finishReason: { unified: "stop", raw: "stop" },
      usage: {
        inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
        outputTokens: { total: 5, text: 5, reasoning: 0 },
      },
    },
  ].values();
  return new ReadableStream({
    pull(controller) {
      const next = parts.next();
      if (next.done === true) controller.close();
      else controller.enqueue(next.value);
    },
  });
}
