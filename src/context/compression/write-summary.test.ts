// What is asked of whoever writes a summary, and what is told of it when it is not whole.
import { expect, it } from "vitest";
import type { ModelMessage } from "../../models/model.ts";
import { ScriptedModel, type ScriptedTurn } from "../../models/testing.ts";
import type { CompressionOptions } from "./compression-options.ts";
import { createCompressor } from "./create-compressor.ts";
import { reply, say } from "./random-conversation.contract.ts";

const SIGNAL = new AbortController().signal;
const LONG = "the warp and the weft are woven on the loom ";

const turns = (count: number, times = 5): ModelMessage[] =>
  Array.from({ length: count }, (_, n) => [
    say(`Question ${n}: ${LONG.repeat(times)}`),
    reply(`Answer ${n}: ${LONG.repeat(times)}`),
  ]).flat();

function fit(messages: readonly ModelMessage[], turn: ScriptedTurn, options: CompressionOptions = {}) {
  const model = new ScriptedModel(() => turn);
  const fitting = createCompressor({ contextWindow: 4000, ...options }).fit(
    { messages },
    { sessionId: "s", model, signal: SIGNAL },
  );
  return { model, fitting };
}

it("says how many messages nobody has read, where there were too many", async () => {
  const writer = new ScriptedModel(() => ({ text: "Short." }), { modelId: "gpt-3.5-turbo-0613" });
  const { fitting } = fit(turns(500, 25), { text: "" }, { contextWindow: 200_000, model: writer });
  const { messages, events } = await fitting;
  expect(events.map(({ type }) => type)).toEqual(["usage", "error", "compression_applied"]);
  expect(events[1]).toMatchObject({ code: "compression_failed", recoverable: true });
  const [, missing] = /\[(\d+) earlier messages are missing/.exec(JSON.stringify(messages[0])) ?? [];
  const read = writer.prompts.map((prompt) => JSON.stringify(prompt[1])).join();
  const [, first] = /Question (\d+):/.exec(read) ?? [];
  // Where the first part begins in the middle of a message, the next is the first that is whole.
  expect(Math.abs(Number(missing) - 2 * Number(first))).toBeLessThanOrEqual(1);
});

it("marks what broke off", async () => {
  const { fitting } = fit(turns(25), { text: "The number of the vault is 12", finishReason: "length" });
  expect(JSON.stringify((await fitting).messages[0])).toContain("vault is 12…");
});

it("leaves room for thinking, and does not ask for more than the model can read", async () => {
  const { model, fitting } = fit(turns(200), { reasoning: "Hm.", text: "Short." });
  await fitting;
  for (const { prompt, maxOutputTokens } of model.requests) {
    expect(maxOutputTokens).toBe(400 + 500);
    // By a rough count of our own.
    expect(JSON.stringify(prompt).length / 5 + (maxOutputTokens ?? 0)).toBeLessThan(4000);
  }
});

it("tells what was paid, whether a summary came of it or not", async () => {
  const usage = { promptTokens: 900, completionTokens: 2048 };
  const { fitting } = fit(turns(25), { reasoning: "Hm.", text: " ", usage, finishReason: "length" });
  expect((await fitting).events.map(({ type }) => type)).toEqual(["usage", "error", "compression_applied"]);
  // Given up while the second part was written: the first was paid.
  const controller = new AbortController();
  const told: string[] = [];
  const model = new ScriptedModel((_, turn) => {
    if (turn === 0) return { text: "One.", usage };
    setImmediate(() => controller.abort());
    return { fault: { kind: "stall" } };
  });
  const place = {
    sessionId: "s",
    model,
    signal: controller.signal,
    onEvent: ({ type }: object & { type: string }) => void told.push(type),
  };
  await expect(createCompressor({ contextWindow: 4000 }).fit({ messages: turns(100) }, place)).rejects.toMatchObject({
    code: "cancelled",
  });
  expect(told).toEqual(["usage"]);
});

it("shortens a summary that was written for a model which can read more", async () => {
  const messages = turns(40, 30);
  const { fitting } = fit(messages, { text: "word ".repeat(1500) }, { contextWindow: 20_000 });
  const { events } = await fitting;
  const [applied] = events.flatMap((event) => (event.type === "compression_applied" ? [event] : []));
  const model = new ScriptedModel([]);
  const covered = messages.slice(0, applied?.covered_messages);
  const fitted = await createCompressor({ contextWindow: 1500 }).fit(
    { messages: [...covered, say("Now?")] },
    { sessionId: "s", model, signal: SIGNAL, readEarlier: async () => (applied === undefined ? [] : [applied]) },
  );
  expect(fitted.events).toEqual([]);
  expect(fitted.messages).toHaveLength(2);
  expect(JSON.stringify(fitted.messages[0]).length).toBeLessThan(1500);
});
