// Without the tokenizer package tokens are estimated. The operator is notified once, the user never.
import { expect, it, vi } from "vitest";
import { ScriptedModel } from "../../models/testing.ts";
import { fitPrompt } from "../../../test/contracts/fit-prompt.ts";
import { Compressor } from "./compressor.ts";
import { say } from "../../../test/contracts/random-conversation.ts";

vi.mock("gpt-tokenizer/encoding/cl100k_base", () => {
  throw new Error("Cannot find package");
});

it("continues with an estimate", async () => {
  const model = new ScriptedModel([], { modelId: "gpt-4" });
  const compressor = new Compressor();
  const received: unknown[] = [];
  const options = {
    model,
    signal: new AbortController().signal,
    onError: (error: Error) => received.push(error),
  };
  for (let times = 0; times < 3; times++) {
    const { messages, events } = await fitPrompt(compressor, { messages: [say("word ".repeat(5000))] }, options);
    expect([messages.length, events]).toEqual([1, []]);
  }
  expect(received).toMatchObject([{ code: "missing_package" }]);
});
