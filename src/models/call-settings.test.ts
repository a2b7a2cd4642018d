import { describe, expect, it } from "vitest";
import { callModel } from "./call-model.ts";
import { request } from "../../test/contracts/play-parts.ts";
import { recordListener } from "../../test/contracts/record-listener.ts";
import { ScriptedModel } from "./scripted-model.ts";

describe("model call options", () => {
  it.each([
    { maxRetries: Number.NaN },
    { maxRetries: Infinity },
    { maxRetries: 1.5 },
    { maxRetries: -1 },
    { retryMs: Number.NaN },
    { maxRetryMs: -1 },
    { connectTimeoutMs: 0 },
    { idleTimeoutMs: 0 },
    { idleTimeoutMs: Number.NaN },
    { maxOutputCharacters: Number.NaN },
    { maxToolCalls: "7" as unknown as number },
  ])("rejects %o before calling the model", async (options) => {
    const model = new ScriptedModel([{ text: "ok" }]);
    const { recorded, listener } = recordListener();
    await expect(callModel(model, request, listener, options)).rejects.toMatchObject({
      code: "invalid_arguments",
      details: { option: Object.keys(options)[0] },
    });
    expect(recorded).toEqual([]);
    expect(model.requests).toEqual([]);
  });

  it("treats undefined like a missing option", async () => {
    const options = { maxRetries: undefined, idleTimeoutMs: undefined } as object;
    const call = callModel(new ScriptedModel([{ text: "ok" }]), request, recordListener().listener, options);
    expect((await call).text).toBe("ok");
  });
});
