/** Contract tests for models called with `callModel`: the offline model, the scripted model, and those of providers. */
import { getEventListeners } from "node:events";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { callModel } from "../../src/models/call-model.ts";
import type { LanguageModel, ModelMessage, ModelRequest, ModelResult, ModelToolCall } from "../../src/models/model.ts";
import { recordListener, type ListenerCall } from "./record-listener.ts";

/** Makes a model give certain answers. The request can be anything that leads to them. */
export interface ModelFixture {
  readonly model: LanguageModel;
  /** Prepares a text as the next answer. */
  prepareText(messages: readonly ModelMessage[]): ModelRequest;
  /** Prepares calls of `calculator` and `current_time`, in any order, as the next answer. */
  prepareCalls(): ModelRequest;
  close?(): Promise<void>;
}

export const CONTRACT_TOOLS = [
  {
    name: "calculator",
    description: "Computes an expression",
    inputSchema: { type: "object", properties: { expression: { type: "string" } }, required: ["expression"] },
  },
  { name: "current_time", description: "Returns the current time", inputSchema: { type: "object", properties: {} } },
];

const hello: ModelMessage = { role: "user", content: [{ type: "text", text: "Hello" }] };

export function describeModel(name: string, openFixture: () => ModelFixture | Promise<ModelFixture>): void {
  describe(`model contract: ${name}`, () => {
    let fixture: ModelFixture;
    beforeAll(async () => {
      fixture = await openFixture();
    });
    afterAll(() => fixture.close?.());

    test("streams a text and returns it complete", async () => {
      const { recorded, listener } = recordListener();
      const result = await callModel(fixture.model, fixture.prepareText([hello]), listener);
      const deltas = recorded.filter(([what]) => what === "text").map(([, delta]) => delta as string);
      expect(deltas.length).toBeGreaterThan(1);
      expect(deltas.every((delta) => delta !== "")).toBe(true);
      expect(result.text).toBe(deltas.join(""));
      expect(result.content.filter(({ type }) => type === "text")).toMatchObject([{ text: result.text }]);
      expect(result).toMatchObject({ finishReason: "stop", calls: [], modelId: expect.any(String) as string });
      expect(recorded.filter(([what]) => what === "start")).toEqual([["start", 0]]);
    });

    test("ends its reasoning before any other output", async () => {
      const { recorded, listener } = recordListener();
      await callModel(fixture.model, fixture.prepareText([hello]), listener);
      let isOpen = false;
      for (const [what] of recorded) {
        if (what === "reasoningEnd") expect(isOpen).toBe(true);
        if (what !== "reasoning" && what !== "reasoningEnd") expect(isOpen).toBe(false);
        isOpen = what === "reasoning";
      }
    });

    test("reports token usage", async () => {
      const { usage } = await callModel(fixture.model, fixture.prepareText([hello]), recordListener().listener);
      expect(usage.promptTokens).toBeGreaterThan(0);
      expect(usage.completionTokens).toBeGreaterThan(0);
      expect(usage.totalTokens).toBe(usage.promptTokens! + usage.completionTokens!);
    });

    test("streams the arguments of parallel calls and reports each complete call once", async () => {
      const { recorded, listener } = recordListener();
      const result = await callModel(fixture.model, fixture.prepareCalls(), listener);
      expect(result.finishReason).toBe("tool_calls");
      expect(result.calls.map((call) => call.name).sort()).toEqual(["calculator", "current_time"]);
      expect(result.calls.map(({ index }) => index)).toEqual([0, 1]);
      expect(new Set(result.calls.map(({ callId }) => callId)).size).toBe(2);
      expect(recorded.filter(([what]) => what === "call").map(([, call]) => call)).toEqual(result.calls);
      for (const call of result.calls) expect(joinDeltas(recorded, call)).toBe(call.rawInput);
      for (const call of result.calls) expect(JSON.parse(call.rawInput)).toEqual(call.input);
    });

    test("continues a conversation with its own calls and their results", async () => {
      const request = fixture.prepareCalls();
      const result = await callModel(fixture.model, request, recordListener().listener);
      const next = fixture.prepareText([...request.messages, ...answerCalls(result)]);
      const { text } = await callModel(fixture.model, { ...next, tools: CONTRACT_TOOLS }, recordListener().listener);
      expect(text).not.toBe("");
    });

    test("is not called if the signal is already aborted", async () => {
      const { recorded, listener } = recordListener();
      const request = fixture.prepareText([hello]);
      const options = { signal: AbortSignal.abort(new Error("not now")) };
      await expect(callModel(fixture.model, request, listener, options)).rejects.toMatchObject({ code: "cancelled" });
      expect(recorded).toEqual([]);
      await callModel(fixture.model, request, listener);
    });

    test("stops when it is cancelled and reports nothing afterwards", async () => {
      const abort = new AbortController();
      const { recorded, listener } = recordListener({ onText: () => abort.abort() });
      const call = callModel(fixture.model, fixture.prepareText([hello]), listener, { signal: abort.signal });
      await expect(call).rejects.toMatchObject({ code: "cancelled" });
      const count = recorded.length;
      expect(recorded.filter(([what]) => what === "text")).toHaveLength(1);
      await new Promise((resolve) => setImmediate(resolve));
      expect(recorded).toHaveLength(count);
    });

    test("rejects with the error of the listener", async () => {
      const { listener } = recordListener({
        onText: () => {
          throw new RangeError("enough");
        },
      });
      await expect(callModel(fixture.model, fixture.prepareText([hello]), listener)).rejects.toThrow(RangeError);
    });

    test("leaves no listener on the caller's signal", async () => {
      const { signal } = new AbortController();
      for (let n = 0; n < 5; n++) {
        await callModel(fixture.model, fixture.prepareText([hello]), recordListener().listener, { signal });
      }
      expect(getEventListeners(signal, "abort")).toEqual([]);
    });
  });
}

function joinDeltas(recorded: readonly ListenerCall[], { callId }: ModelToolCall): string {
  return recorded
    .filter(([what, call]) => what === "input" && (call as ModelToolCall).callId === callId)
    .map(([, , delta]) => delta as string)
    .join("");
}

/** Returns the messages an agent adds to the conversation after running the calls. */
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
