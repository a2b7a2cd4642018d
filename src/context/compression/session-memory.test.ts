// Session state of the compressor: concurrent prompts keep their own summaries and wait only if needed, and sessions
// with the same ID in two logs are independent.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ModelMessage } from "../../models/model.ts";
import { ScriptedModel } from "../../models/testing.ts";
import type { CompressionAppliedEvent } from "../../protocol/events.generated.ts";
import type { FitOptions } from "./compression-context.ts";
import { Compressor } from "./compressor.ts";
import { callAndResult, reply, say } from "../../../test/contracts/random-conversation.ts";
import { fitPrompt, type FittedPrompt } from "../../../test/contracts/fit-prompt.ts";
import { LONG } from "../../../test/sampling.ts";

const SIGNAL = new AbortController().signal;
const LONG_TEXT = "the warp and the weft are woven on the loom ";
const WINDOW = { contextWindow: 4000 };

const turns = (count: number, from = 0): ModelMessage[] =>
  Array.from({ length: count }, (_, n) => [
    say(`Question ${from + n}: ${LONG_TEXT.repeat(5)}`),
    reply(`Answer ${from + n}: ${LONG_TEXT.repeat(5)}`),
  ]).flat();
const appliedOf = ({ events }: FittedPrompt): readonly CompressionAppliedEvent[] =>
  events.flatMap((event) => (event.type === "compression_applied" ? [event] : []));
const textOf = (messages: readonly ModelMessage[]): string => JSON.stringify(messages);

describe("concurrent prompts of one session", () => {
  it.runIf(LONG)("need as many summaries as prompts in separate sessions, in any order", async () => {
    const work = async (order: readonly number[], sessionOf: (n: number) => object): Promise<number> => {
      const model = new ScriptedModel(() => ({ text: "So far, so good." }));
      const compressor = new Compressor(WINDOW);
      const prompts = new Map<number, ModelMessage[]>();
      let paid = 0;
      for (const [step, n] of order.entries()) {
        const messages = prompts.get(n) ?? [say(`Question:\nReport\n\nTask ${n}`)];
        prompts.set(n, messages);
        const options = { session: sessionOf(n), model, signal: SIGNAL, turnStart: 0 };
        const fitted = await fitPrompt(compressor, { messages }, options);
        paid += fitted.events.filter(({ type }) => type === "usage").length;
        expect(textOf(fitted.messages)).toContain(`Task ${n}`);
        messages.push(...callAndResult(`c${n}_${step}`, `${n} ${step} ${LONG_TEXT.repeat(30)}`));
      }
      // Every model call has a `usage` event.
      expect(paid).toBe(model.requests.length);
      return paid;
    };
    let some = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(11), { minLength: 100, maxLength: 200 }), async (order) => {
        const [one, own] = [{}, Array.from({ length: 12 }, () => ({}))];
        const shared = await work(order, () => one);
        expect(shared).toBe(await work(order, (n) => own[n] as object));
        some += shared;
      }),
      { numRuns: 4, seed: 7 },
    );
    expect(some).toBeGreaterThan(0);
  });

  it("do not wait for unrelated summaries", async () => {
    const all = Promise.withResolvers<void>();
    let asked = 0;
    // No summary finishes before all are requested.
    const model = new ScriptedModel(() => {
      if (++asked === 4) all.resolve();
      return { until: all.promise, text: "Done." };
    });
    const compressor = new Compressor(WINDOW);
    const fits = [0, 1, 2, 3].map((n) => {
      const rounds = Array.from({ length: 9 }, (_, r) =>
        callAndResult(`c${n}_${r}`, `${n} ${LONG_TEXT.repeat(30)}`),
      ).flat();
      return fitPrompt(
        compressor,
        { messages: [say(`Task ${n}`), ...rounds] },
        { model, signal: SIGNAL, turnStart: 0 },
      );
    });
    for (const fitted of await Promise.all(fits)) expect(appliedOf(fitted)).toHaveLength(1);
  });

  it("share the summary of the history and continue it separately", async () => {
    const model = new ScriptedModel((_, turn) => ({ text: `Summary ${turn}.` }));
    const compressor = new Compressor(WINDOW);
    const history = turns(26);
    const prompts = [0, 1, 2].map((n) => [...history, say(`Task ${n}`)]);
    const fit = (messages: readonly ModelMessage[]) =>
      fitPrompt(compressor, { messages }, { model, signal: SIGNAL, turnStart: history.length });
    for (let round = 0; round < 20; round++) {
      for (const [n, messages] of prompts.entries()) {
        const fitted = await fit(messages);
        if (round === 0) expect(model.requests).toHaveLength(1);
        expect(textOf(fitted.messages)).toContain(`Task ${n}`);
        messages.push(...callAndResult(`c${n}_${round}`, `${n} ${LONG_TEXT.repeat(20)}`));
      }
    }
    for (const { prompt } of model.requests.slice(1)) expect(textOf(prompt)).toMatch(/Summary \d+\./);
  });
});

describe("the state of a session", () => {
  it("is not that of another session", async () => {
    const model = new ScriptedModel((_, turn) => ({ text: `Summary ${turn}.` }));
    const compressor = new Compressor(WINDOW);
    const fit = (session: object) => fitPrompt(compressor, { messages: turns(25) }, { session, model, signal: SIGNAL });
    const [one, two] = [{}, {}];
    expect(textOf((await fit(one)).messages)).toContain("Summary 0.");
    expect(textOf((await fit(two)).messages)).toContain("Summary 1.");
    expect(textOf((await fit(one)).messages)).toContain("Summary 0.");
  });

  it("replaces the missing start of the history", async () => {
    const model = new ScriptedModel(() => ({ text: "The user is called Zed." }));
    const first = await fitPrompt(new Compressor(WINDOW), { messages: turns(25) }, { model, signal: SIGNAL });
    const options = { model, signal: SIGNAL, readEarlier: async () => appliedOf(first) };
    const messages = turns(2, 100);
    const fit = (more: Partial<FitOptions>) => fitPrompt(new Compressor(WINDOW), { messages }, { ...options, ...more });
    const fitted = await fit({ isHistoryTruncated: true });
    expect(fitted.messages.slice(1)).toEqual(messages);
    expect(textOf(fitted.messages.slice(0, 1))).toContain("The user is called Zed.");
    expect((await fit({})).messages).toEqual(messages);
  });

  it("includes dropped messages in the next summary, also in another process", async () => {
    const failing = new ScriptedModel(() => ({ text: "" }));
    const first = await fitPrompt(new Compressor(WINDOW), { messages: turns(25) }, { model: failing, signal: SIGNAL });
    const [dropped] = appliedOf(first);
    expect(dropped?.method).toBe("drop");
    const model = new ScriptedModel(() => ({ text: "Short." }));
    const options = { model, signal: SIGNAL, readEarlier: async () => appliedOf(first) };
    const compressor = new Compressor(WINDOW);
    const again = await fitPrompt(compressor, { messages: turns(25) }, options);
    expect([again.messages, again.events]).toEqual([first.messages, []]);
    const grown = await fitPrompt(compressor, { messages: turns(40) }, options);
    expect(textOf(model.prompts.flat())).toContain("Question 0:");
    expect(textOf(model.prompts.flat())).not.toContain("are missing");
    expect(textOf(grown.messages)).not.toContain("are missing");
  });

  it("is not required: if the log cannot be read, this is reported and a new summary is written", async () => {
    const model = new ScriptedModel(() => ({ text: "Short." }));
    const readEarlier = () => Promise.reject(new Error("disk sk-secret-key-1234567"));
    const options = { model, signal: SIGNAL, readEarlier };
    const fitted = await fitPrompt(new Compressor(WINDOW), { messages: turns(25) }, options);
    expect(fitted.events).toMatchObject([
      { type: "error", code: "compression_failed", recoverable: true },
      { type: "llm_start", purpose: "summary" },
      { type: "usage" },
      { type: "llm_end", purpose: "summary" },
      { type: "compression_applied", method: "summary" },
    ]);
    expect(JSON.stringify(fitted.events)).not.toContain("sk-secret");
  });
});

it("uses the given start of the current turn, even if earlier messages have the same text", async () => {
  const model = new ScriptedModel(() => ({ text: "They spoke." }));
  const asked = say("Question:\ngo on\n\nPropose thoughts.");
  const again = [reply("I think so."), say("That cannot be used. Give it again.")];
  const history = [say("go on"), reply("Yes."), asked, reply("No."), ...turns(26)];
  const messages = [...history, asked, ...again];
  const options = { model, signal: SIGNAL, turnStart: history.length };
  const fitted = await fitPrompt(new Compressor(WINDOW), { messages }, options);
  expect(appliedOf(fitted)).toHaveLength(1);
  expect(fitted.messages.slice(-3)).toEqual(messages.slice(-3));
});
