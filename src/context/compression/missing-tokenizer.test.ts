// Without the tokenizer package tokens are estimated. The operator is notified once, the user never.
import { expect, it, vi } from "vitest";
import { ScriptedModel } from "../../models/testing.ts";
import { createCompressor } from "./create-compressor.ts";
import { say } from "../../../test/contracts/random-conversation.ts";

vi.mock("gpt-tokenizer/encoding/cl100k_base", () => {
  throw new Error("Cannot find package");
});

it("continues with an estimate", async () => {
  const model = new ScriptedModel([], { modelId: "gpt-4" });
  const compressor = createCompressor();
  const received: unknown[] = [];
  const options = {
    sessionId: "s",
    model,
    signal: new AbortController().signal,
    onError: (error: Error) => received.push(error),
  };
  for (let times = 0; times < 3; times++) {
    const { messages, events } = await compressor.fit({ messages: [say("word ".repeat(5000))] }, options);
    expect([messages.length, events]).toEqual([1, []]);
  }
  expect(received).toMatchObject([{ code: "missing_package" }]);
});
