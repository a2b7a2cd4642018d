/** What every model is held to when it is called through `callModel`: ours, the scripted one, and those of providers. */
import { getEventListeners } from "node:events";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { callModel } from "./call-model.ts";
import type { LanguageModel, ModelMessage, ModelRequest, ModelResult, ModelToolCall } from "./model.ts";
import { recordListener, type Told } from "./record-listener.contract.ts";

/** How a model is brought to do something. What it is asked may be anything that makes it. */
export interface ModelStage {
  readonly model: LanguageModel;
  /** The model's next answer is a text. */
  prepareText(messages: readonly ModelMessage[]): ModelRequest;
  /** The model's next answer calls `calculator` and `current_time`, in any order. */
  prepareCalls(): ModelRequest;
  close?(): Promise<void>;
}

export const CONTRACT_TOOLS = [
  {
    name: "calculator",
    description: "Computes an expression",
    inputSchema: { type: "object", properties: { expression: { type: "string" } }, required: ["expression"] },
  },
  { name: "current_time", description: "Tells the time", inputSchema: { type: "object", properties: {} } },
];

const hello: ModelMessage = { role: "user", content: [{ type: "text", text: "Hello" }] };

export function describeModel(name: string, openStage: () => ModelStage | Promise<ModelStage>): void {
  describe(`the contract of models: ${name}`, () => {
    let stage: ModelStage;
    beforeAll(async () => {
      stage = await openStage();
    });
    afterAll(() => stage.close?.());

    test("streams a text, and gives it back whole", async () => {
      const { told, listener } = recordListener();
      const result = await callModel(stage.model, stage.prepareText([hello]), listener);
      const deltas = told.filter(([what]) => what === "text").map(([, delta]) => delta as string);
      expect(deltas.length).toBeGreaterThan(1);
      expect(deltas.every((delta) => delta !== "")).toBe(true);
      expect(result.text).toBe(deltas.join(""));
      expect(result.content.filter(({ type }) => type === "text")).toMatchObject([{ text: result.text }]);
      expect(result).toMatchObject({ finishReason: "stop", calls: [], modelId: expect.any(String) as string });
      expect(told.filter(([what]) => what === "start")).toEqual([["start", 0]]);
    });

    test("closes its reasoning before anything else is told", async () => {
      const { told, listener } = recordListener();
      await callModel(stage.model, stage.prepareText([hello]), listener);
      let isOpen = false;
      for (const [what] of told) {
        if (what === "reasoningEnd") expect(isOpen).toBe(true);
        if (what !== "reasoning" && what !== "reasoningEnd") expect(isOpen).toBe(false);
        isOpen = what === "reasoning";
      }
    });

    test("counts", async () => {
      const { usage } = await callModel(stage.model, stage.prepareText([hello]), recordListener().listener);
      expect(usage.promptTokens).toBeGreaterThan(0);
      expect(usage.completionTokens).toBeGreaterThan(0);
      expect(usage.totalTokens).toBe(usage.promptTokens! + usage.completionTokens!);
    });

    test("streams the arguments of parallel calls, and gives each call once and whole", async () => {
      const { told, listener } = recordListener();
      const result = await callModel(stage.model, stage.prepareCalls(), listener);
      expect(result.finishReason).toBe("tool_calls");
      expect(result.calls.map((call) => call.name).sort()).toEqual(["calculator", "current_time"]);
      expect(result.calls.map(({ index }) => index)).toEqual([0, 1]);
      expect(new Set(result.calls.map(({ callId }) => callId)).size).toBe(2);
      expect(told.filter(([what]) => what === "call").map(([, call]) => call)).toEqual(result.calls);
      for (const call of result.calls) expect(joinDeltas(told, call)).toBe(call.rawInput);
      for (const call of result.calls) expect(JSON.parse(call.rawInput)).toEqual(call.input);
    });

    test("takes its own calls back with their results, and goes on", async () => {
      const request = stage.prepareCalls();
      const result = await callModel(stage.model, request, recordListener().listener);
      const next = stage.prepareText([...request.messages, ...answerCalls(result)]);
      const { text } = await callModel(stage.model, { ...next, tools: CONTRACT_TOOLS }, recordListener().listener);
      expect(text).not.toBe("");
    });

    test("is not asked at all when it was cancelled before", async () => {
      const { told, listener } = recordListener();
      const request = stage.prepareText([hello]);
      const options = { signal: AbortSignal.abort(new Error("not now")) };
      await expect(callModel(stage.model, request, listener, options)).rejects.toMatchObject({ code: "cancelled" });
      expect(told).toEqual([]);
      await callModel(stage.model, request, listener);
    });

    test("stops in the middle when it is cancelled, and tells nothing after that", async () => {
      const abort = new AbortController();
      const { told, listener } = recordListener({ onText: () => abort.abort() });
      const call = callModel(stage.model, stage.prepareText([hello]), listener, { signal: abort.signal });
      await expect(call).rejects.toMatchObject({ code: "cancelled" });
      const count = told.length;
      expect(told.filter(([what]) => what === "text")).toHaveLength(1);
      await new Promise((resolve) => setImmediate(resolve));
      expect(told).toHaveLength(count);
    });

    test("ends with what the listener throws", async () => {
      const { listener } = recordListener({
        onText: () => {
          throw new RangeError("enough");
        },
      });
      await expect(callModel(stage.model, stage.prepareText([hello]), listener)).rejects.toThrow(RangeError);
    });

    test("leaves nothing on the caller's signal", async () => {
      const { signal } = new AbortController();
      for (let n = 0; n < 5; n++) {
        await callModel(stage.model, stage.prepareText([hello]), recordListener().listener, { signal });
      }
      expect(getEventListeners(signal, "abort")).toEqual([]);
    });
  });
}

function joinDeltas(told: readonly Told[], { callId }: ModelToolCall): string {
  return told
    .filter(([what, call]) => what === "input" && (call as ModelToolCall).callId === callId)
    .map(([, , delta]) => delta as string)
    .join("");
}

/** What an agent adds to the conversation after the calls were made. */
export function answerCalls({ content, calls }: ModelResult): ModelMessage[] {
  const results = calls.map(({ callId, name }) => ({
    type: "tool-result" as const,
    toolCallId: callId,
    toolName: name,
    output: { type: "text" as const, value: "391" },
  }));
  return [
    { role: "assistant", content },
    { role: "tool", content: results },
  ];
}
