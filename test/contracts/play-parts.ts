// Test helpers: models that stream given parts.
import { callModel } from "../../src/models/call-model.ts";
import type { LanguageModel, ModelRequest } from "../../src/models/model.ts";
import { recordListener } from "./record-listener.ts";

export const request: ModelRequest = { messages: [{ role: "user", content: [{ type: "text", text: "Hello" }] }] };
export const FINISH = { type: "finish", finishReason: { unified: "stop" }, usage: {} };

export function streamOf(parts: readonly unknown[]): ReadableStream {
  return new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });
}

/** A model whose stream consists of these parts. */
export function modelOf(parts: readonly unknown[]): LanguageModel {
  return {
    specificationVersion: "v4",
    provider: "p",
    modelId: "m",
    doStream: async () => ({ stream: streamOf(parts) }),
  };
}

export async function read(parts: readonly unknown[], from: ModelRequest = request) {
  const { recorded, listener } = recordListener();
  const result = await callModel(modelOf(parts), from, listener, { maxRetries: 0 });
  return { recorded, result };
}
