// The request for a summary, and the notes about an incomplete one.
import { expect, it } from "vitest";
import type { ModelMessage } from "../../models/model.ts";
import { ScriptedModel, type ScriptedTurn } from "../../models/testing.ts";
import type { CompressionOptions } from "./compression-options.ts";
import { Compressor } from "./compressor.ts";
import { reply, say } from "../../../test/contracts/random-conversation.ts";
import { fitPrompt } from "../../../test/contracts/fit-prompt.ts";
import { LONG } from "../../../test/sampling.ts";

const SIGNAL = new AbortController().signal;
const LONG_TEXT = "the warp and the weft are woven on the loom ";

const turns = (count: number, times = 5): ModelMessage[] =>
  Array.from({ length: count }, (_, n) => [
    say(`Question ${n}: ${LONG_TEXT.repeat(times)}`),
    reply(`Answer ${n}: ${LONG_TEXT.repeat(times)}`),
  ]).flat();

function fit(messages: readonly ModelMessage[], turn: ScriptedTurn, options: CompressionOptions = {}) {
  const model = new ScriptedModel(() => turn);
  const fitting = fitPrompt(
    new Compressor({ contextWindow: 4000, ...options }),
    { messages },
    { model, signal: SIGNAL },
  );
  return { model, fitting };
}

it("says how many messages were left out if there were too many", async () => {
  const writer = new ScriptedModel(() => ({ text: "Short." }), { modelId: "gpt-3.5-turbo-0613" });
  const { fitting } = fit(turns(500, 25), { text: "" }, { contextWindow: 200_000, model: writer });
  const { messages, events } = await fitting;
  const others = events.filter(({ type }) => !/^llm_|usage/.test(type));
  expect(others.map(({ type }) => type)).toEqual(["error", "compression_applied"]);
  expect(others[0]).toMatchObject({ code: "compression_failed", recoverable: true });
  const [, missing] = /\[(\d+) earlier messages are missing/.exec(JSON.stringify(messages[0])) ?? [];
  const read = writer.prompts.map((prompt) => JSON.stringify(prompt[1])).join();
  const [, first] = /Question (\d+):/.exec(read) ?? [];
  // If the first part starts within a message, the next message is the first complete one.
  expect(Math.abs(Number(missing) - 2 * Number(first))).toBeLessThanOrEqual(1);
});

it("marks a summary that was cut off", async () => {
  const { fitting } = fit(turns(25), { text: "The number of the vault is 12", finishReason: "length" });
  expect(JSON.stringify((await fitting).messages[0])).toContain("vault is 12…");
});

it("reserves tokens for reasoning and does not exceed the context window", async () => {
  const { model, fitting } = fit(turns(200), { reasoning: "Hm.", text: "Short." });
  await fitting;
  for (const { prompt, maxOutputTokens } of model.requests) {
    expect(maxOutputTokens).toBe(400 + 500);
    // A rough count made by the test.
    expect(JSON.stringify(prompt).length / 5 + (maxOutputTokens ?? 0)).toBeLessThan(4000);
  }
});

it("emits the usage even if no summary results", async () => {
  const usage = { promptTokens: 900, completionTokens: 2048 };
  const { fitting } = fit(turns(25), { reasoning: "Hm.", text: " ", usage, finishReason: "length" });
  const types = ["llm_start", "usage", "llm_end", "error", "compression_applied"];
  expect((await fitting).events.map(({ type }) => type)).toEqual(types);
  // Aborted during the second part: the first part was paid for.
  const controller = new AbortController();
  const received: string[] = [];
  const model = new ScriptedModel((_, turn) => {
    if (turn === 0) return { text: "One.", usage };
    setImmediate(() => controller.abort());
    return { fault: { kind: "stall" } };
  });
  const options = {
    model,
    signal: controller.signal,
    emit: async ({ type }: object & { type: string }) => void received.push(type),
  };
  await expect(
    fitPrompt(new Compressor({ contextWindow: 4000 }), { messages: turns(100) }, options),
  ).rejects.toMatchObject({
    code: "cancelled",
  });
  expect(received).toEqual(["llm_start", "usage", "llm_end", "llm_start", "llm_end"]);
});

it("shortens a summary written for a model with a larger window", async () => {
  const messages = turns(40, 30);
  const { fitting } = fit(messages, { text: "word ".repeat(1500) }, { contextWindow: 20_000 });
  const { events } = await fitting;
  const [applied] = events.flatMap((event) => (event.type === "compression_applied" ? [event] : []));
  const model = new ScriptedModel([]);
  const covered = messages.slice(0, applied?.covered_messages);
  const fitted = await fitPrompt(
    new Compressor({ contextWindow: 1500 }),
    { messages: [...covered, say("Now?")] },
    { model, signal: SIGNAL, readEarlier: async () => (applied === undefined ? [] : [applied]) },
  );
  expect(fitted.events).toEqual([]);
  expect(fitted.messages).toHaveLength(2);
  expect(JSON.stringify(fitted.messages[0]).length).toBeLessThan(1500);
});

it("emits every attempt, and calls the model only after `llm_start` is handled", async () => {
  const order: string[] = [];
  const model = new ScriptedModel((_, turn) => {
    order.push("called");
    return turn === 0 ? { fault: { kind: "throw", error: new TypeError("fetch failed") } } : { text: "Short." };
  });
  const fitted = await fitPrompt(
    new Compressor({ contextWindow: 4000 }),
    { messages: turns(25) },
    {
      model,
      signal: SIGNAL,
      createCallId: () => `n.${order.length}`,
      emit: async ({ type }) => {
        await new Promise(setImmediate);
        if (type === "llm_start") order.push("handled");
      },
    },
  );
  expect(order.slice(0, 2)).toEqual(["handled", "called"]);
  expect(order.filter((one) => one === "handled")).toHaveLength(model.requests.length);
  const ends = fitted.events.filter(({ type }) => type === "llm_end");
  expect(ends).toHaveLength(model.requests.length);
  const refused = new ScriptedModel(() => ({ text: "Short." }));
  const emit = async ({ type }: { readonly type: string }): Promise<void> => {
    if (type === "llm_start") throw new Error("the log is full");
  };
  const options = { model: refused, signal: SIGNAL, emit };
  const without = await fitPrompt(new Compressor({ contextWindow: 4000 }), { messages: turns(25) }, options);
  expect(refused.requests).toHaveLength(0);
  expect(without.events.at(-1)).toMatchObject({ method: "drop" });
});

it.runIf(LONG).each([
  ["a shorter summary", 880, "cut", /Word/],
  ["a note", 943, "drop", /50 earlier messages are missing/],
])("makes room for the question: %s", async (_, size, method, words) => {
  const model = new ScriptedModel(() => ({ text: `Word${" word".repeat(90)}` }), { modelId: "gpt-4o" });
  const compressor = new Compressor({ contextWindow: 1000 });
  const question = say(`Now?${" word".repeat(size)}`);
  const options = { model, signal: SIGNAL };
  const messages = [...turns(25), question];
  const fitted = await fitPrompt(compressor, { messages }, options);
  expect(fitted.messages.at(-1)).toEqual(question);
  expect(JSON.stringify(fitted.messages[0])).toMatch(words);
  const applied = fitted.events.flatMap((event) => (event.type === "compression_applied" ? [event] : []));
  expect(applied.at(-1)).toMatchObject({ method });
  expect(applied.at(-1)?.after_tokens).toBeLessThanOrEqual(1000);
  expect((await fitPrompt(compressor, { messages }, options)).events).toEqual([]);
  // If not even a note fits, no summary is paid for.
  const asked = model.requests.length;
  const refused = fitPrompt(compressor, { messages: [...turns(25), say(`Now?${" word".repeat(990)}`)] }, options);
  await expect(refused).rejects.toMatchObject({ code: "prompt_too_large" });
  expect(model.requests).toHaveLength(asked);
});
