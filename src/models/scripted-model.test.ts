import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { callModel } from "./call-model.ts";
import type { ModelRequest } from "./model.ts";
import { recordListener } from "../../test/contracts/record-listener.ts";
import { ScriptedModel } from "./scripted-model.ts";

const request: ModelRequest = { messages: [{ role: "user", content: [{ type: "text", text: "Hello" }] }] };
const ask = (model: ScriptedModel, options = {}) =>
  callModel(model, request, recordListener().listener, { maxRetries: 0, ...options });

describe("ScriptedModel", () => {
  it("plays its turns in order and records the requests", async () => {
    const model = new ScriptedModel([
      { text: "One", usage: { promptTokens: 5 } },
      { reasoning: "Now a tool", calls: [{ name: "f", input: { a: 1 } }, { name: "g" }] },
    ]);
    expect(await ask(model)).toMatchObject({ text: "One", usage: { promptTokens: 5 } });
    expect((await ask(model)).calls).toMatchObject([
      { name: "f", input: { a: 1 }, callId: "call_2_1" },
      { name: "g", input: {}, callId: "call_2_2" },
    ]);
    expect(model.prompts).toEqual([request.messages, request.messages]);
    await expect(ask(model)).rejects.toThrow("The script has 2 turns");
  });

  it("accepts a function as the script", async () => {
    const model = new ScriptedModel(({ prompt }, turn) => ({ text: `${prompt.length} in turn ${turn}` }));
    expect((await ask(model)).text).toBe("1 in turn 0");
    expect((await ask(model)).text).toBe("1 in turn 1");
  });

  it.each([
    ["throw", "model_failed"],
    ["error", "model_failed"],
    ["break", "model_stream_cut"],
    ["cut", "model_stream_cut"],
  ] as const)("fails as scripted: %s", async (kind, code) => {
    const model = new ScriptedModel([{ text: "Some text", fault: { kind, after: 1 } }]);
    await expect(ask(model)).rejects.toMatchObject({ code });
  });

  it("stalls until it is aborted or times out", async () => {
    const fault = { kind: "stall", after: 1 } as const;
    const model = new ScriptedModel([{ text: "Some text", fault }, { fault }]);
    await expect(ask(model, { idleTimeoutMs: 20 })).rejects.toMatchObject({ code: "model_timeout" });
    const call = ask(model, { signal: AbortSignal.timeout(10) });
    await expect(call).rejects.toMatchObject({ code: "cancelled" });
  });

  it("waits for `until` before it answers", async () => {
    let release: () => void = () => undefined;
    const until = new Promise<void>((resolve) => (release = resolve));
    const { recorded, listener } = recordListener();
    const call = callModel(new ScriptedModel([{ text: "Go", until }]), request, listener);
    await new Promise((resolve) => setImmediate(resolve));
    expect(recorded).toEqual([["start", 0]]);
    release();
    expect((await call).text).toBe("Go");
  });

  it("leaves no listener on the signal", async () => {
    const { signal } = new AbortController();
    const model = new ScriptedModel(() => ({ text: "ab" }));
    for (const read of ["whole", "cancelled"]) {
      const { stream } = await model.doStream({ prompt: [], abortSignal: signal });
      if (read === "cancelled") await stream.cancel();
      else for await (const _part of stream) continue;
    }
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  it("keeps surrogate pairs together", async () => {
    const { recorded, listener } = recordListener();
    await callModel(new ScriptedModel([{ text: "a🌍b世" }], { chunk: 1 }), request, listener);
    expect(recorded.slice(1).map(([, delta]) => delta)).toEqual(["a", "🌍", "b", "世"]);
  });
});
