import { describe, expect, it } from "vitest";
import type { ModelSettings } from "../../models/model.ts";
import { ScriptedModel } from "../../models/testing.ts";
import { isLoomError } from "../../protocol/index.ts";
import { checkCompressionOptions, type CompressionOptions, computeBudget } from "./compression-options.ts";
import { fitPrompt } from "../../../test/contracts/fit-prompt.ts";
import { Compressor } from "./compressor.ts";
import { reply, say } from "../../../test/contracts/random-conversation.ts";

const LONG = "the warp and the weft are woven on the loom ";
const budgetOf = (modelId: string, options: CompressionOptions = {}, settings: ModelSettings = {}) =>
  computeBudget(options, new ScriptedModel([], { modelId }), settings);

it.each<[unknown]>([
  [null],
  [[]],
  [{ threshold: 0 }],
  [{ threshold: 1.1 }],
  [{ target: 0.9 }],
  [{ target: "0.5" }],
  [{ contextWindow: 0.5 }],
  [{ keepTurns: 0 }],
  [{ maxSummaryTokens: Number.NaN }],
  [{ timeoutMs: 0 }],
  [{ pinned: "a fact" }],
  [{ pinned: [1] }],
  [{ model: 5 }],
  [{ model: null }],
])("rejects %j", (options) => {
  let thrown: unknown;
  try {
    checkCompressionOptions(options as CompressionOptions);
  } catch (error) {
    thrown = error;
  }
  expect(isLoomError(thrown) && thrown.code).toBe("invalid_arguments");
});

describe("the token budget", () => {
  it("reserves the output tokens unless the model counts them separately", () => {
    expect(budgetOf("gpt-4", {}, { maxOutputTokens: 4096 }).maximum).toBe(4096);
    expect(budgetOf("gpt-5", {}, { maxOutputTokens: 100_000 }).maximum).toBe(272_000);
    expect(budgetOf("gpt-5", { contextWindow: 10_000 }, { maxOutputTokens: 4000 }).maximum).toBe(6000);
  });

  it.each<[CompressionOptions, ModelSettings]>([
    [{}, {}],
    [{ threshold: 0.5 }, {}],
    [{ threshold: 0.5, target: 0.5 }, {}],
    [{}, { maxOutputTokens: 4900 }],
    [{ maxSummaryTokens: 8192 }, {}],
    [{ keepTurns: 30 }, {}],
  ])("leaves room for the next turns with %j and %j", async (options, settings) => {
    const { limit, target } = budgetOf("gpt-4", options, settings);
    expect(target).toBeLessThanOrEqual(0.8 * limit);
    const model = new ScriptedModel(() => ({ text: "A fact. ".repeat(50) }), { modelId: "gpt-4" });
    const compressor = new Compressor(options);
    const messages = [say("Hello")];
    for (let turn = 0; turn < 100; turn++) {
      messages.push(reply(`Answer ${turn} ${LONG.repeat(5)}`), say(`Question ${turn} ${LONG.repeat(5)}`));
      await fitPrompt(compressor, { messages, settings }, { model, signal: new AbortController().signal });
    }
    expect(model.requests.length).toBeGreaterThan(0);
    expect(model.requests.length).toBeLessThan(20);
  });
});
