// What is known of a session: prompts side by side do not take each other's summaries away, nor wait for one another
// without need, and sessions of one name in two logs know nothing of each other.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ModelMessage } from "../../models/model.ts";
import { ScriptedModel } from "../../models/testing.ts";
import type { CompressionAppliedEvent } from "../../protocol/index.ts";
import type { FitOptions, FittedPrompt } from "./compressor.ts";
import { createCompressor } from "./create-compressor.ts";
import { callAndResult, reply, say } from "./random-conversation.contract.ts";

const SIGNAL = new AbortController().signal;
const LONG = "the warp and the weft are woven on the loom ";
const WINDOW = { contextWindow: 4000 };

const turns = (count: number, from = 0): ModelMessage[] =>
  Array.from({ length: count }, (_, n) => [
    say(`Question ${from + n}: ${LONG.repeat(5)}`),
    reply(`Answer ${from + n}: ${LONG.repeat(5)}`),
  ]).flat();
const appliedOf = ({ events }: FittedPrompt): readonly CompressionAppliedEvent[] =>
  events.flatMap((event) => (event.type === "compression_applied" ? [event] : []));
const textOf = (messages: readonly ModelMessage[]): string => JSON.stringify(messages);

describe("prompts of one session side by side", () => {
  it("cost as many summaries as each in a session of its own, in whatever order they come", async () => {
    const work = async (order: readonly number[], sessionOf: (n: number) => string): Promise<number> => {
      const model = new ScriptedModel(() => ({ text: "So far, so good." }));
      const compressor = createCompressor(WINDOW);
      const prompts = new Map<number, ModelMessage[]>();
      let paid = 0;
      for (const [step, n] of order.entries()) {
        const messages = prompts.get(n) ?? [say(`Question:\nReport\n\nTask ${n}`)];
        prompts.set(n, messages);
        const place = { sessionId: sessionOf(n), model, signal: SIGNAL, present: 0 };
        const fitted = await compressor.fit({ messages }, place);
        paid += fitted.events.filter(({ type }) => type === "usage").length;
        expect(textOf(fitted.messages)).toContain(`Task ${n}`);
        messages.push(...callAndResult(`c${n}_${step}`, `${n} ${step} ${LONG.repeat(30)}`));
      }
      // Every call of a model is in a `usage`.
      expect(paid).toBe(model.requests.length);
      return paid;
    };
    let some = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(11), { minLength: 100, maxLength: 200 }), async (order) => {
        const shared = await work(order, () => "one");
        expect(shared).toBe(await work(order, String));
        some += shared;
      }),
      { numRuns: 4, seed: 7 },
    );
    expect(some).toBeGreaterThan(0);
  });

  it("do not wait for a summary of something else", async () => {
    const all = Promise.withResolvers<void>();
    let asked = 0;
    // None comes before all are asked for.
    const model = new ScriptedModel(() => {
      if (++asked === 4) all.resolve();
      return { until: all.promise, text: "Done." };
    });
    const compressor = createCompressor(WINDOW);
    const fits = [0, 1, 2, 3].map((n) => {
      const rounds = Array.from({ length: 9 }, (_, r) => callAndResult(`c${n}_${r}`, `${n} ${LONG.repeat(30)}`)).flat();
      return compressor.fit(
        { messages: [say(`Task ${n}`), ...rounds] },
        { sessionId: "s", model, signal: SIGNAL, present: 0 },
      );
    });
    for (const fitted of await Promise.all(fits)) expect(appliedOf(fitted)).toHaveLength(1);
  });

  it("share the summary of what was before them, and go on from it each in its own way", async () => {
    const model = new ScriptedModel((_, turn) => ({ text: `Summary ${turn}.` }));
    const compressor = createCompressor(WINDOW);
    const history = turns(26);
    const prompts = [0, 1, 2].map((n) => [...history, say(`Task ${n}`)]);
    const fit = (messages: readonly ModelMessage[]) =>
      compressor.fit({ messages }, { sessionId: "s", model, signal: SIGNAL, present: history.length });
    for (let round = 0; round < 20; round++) {
      for (const [n, messages] of prompts.entries()) {
        const fitted = await fit(messages);
        if (round === 0) expect(model.requests).toHaveLength(1);
        expect(textOf(fitted.messages)).toContain(`Task ${n}`);
        messages.push(...callAndResult(`c${n}_${round}`, `${n} ${LONG.repeat(20)}`));
      }
    }
    for (const { prompt } of model.requests.slice(1)) expect(textOf(prompt)).toMatch(/Summary \d+\./);
  });
});

describe("what is known of a session", () => {
  it("belongs to its log", async () => {
    const model = new ScriptedModel((_, turn) => ({ text: `Summary ${turn}.` }));
    const compressor = createCompressor(WINDOW);
    const fit = (scope: object) =>
      compressor.fit({ messages: turns(25) }, { sessionId: "s", scope, model, signal: SIGNAL });
    const [one, two] = [{}, {}];
    expect(textOf((await fit(one)).messages)).toContain("Summary 0.");
    expect(textOf((await fit(two)).messages)).toContain("Summary 1.");
    expect(textOf((await fit(one)).messages)).toContain("Summary 0.");
  });

  it("is kept as long as it is used, however many others there are", async () => {
    const model = new ScriptedModel(() => ({ text: "Short." }));
    const compressor = createCompressor({ contextWindow: 1000 });
    const messages = turns(8);
    const fit = (sessionId: string) => compressor.fit({ messages }, { sessionId, model, signal: SIGNAL });
    await fit("mine");
    for (let n = 0; n < 1001; n++) {
      await fit(`other ${n}`);
      if (n % 250 === 0) expect((await fit("mine")).events).toEqual([]);
    }
    expect((await fit("mine")).events).toEqual([]);
  });

  it("stands for what the history has lost", async () => {
    const model = new ScriptedModel(() => ({ text: "The user is called Zed." }));
    const first = await createCompressor(WINDOW).fit(
      { messages: turns(25) },
      { sessionId: "s", model, signal: SIGNAL },
    );
    const place = { sessionId: "s", model, signal: SIGNAL, readEarlier: async () => appliedOf(first) };
    const messages = turns(2, 100);
    const fit = (more: Partial<FitOptions>) => createCompressor(WINDOW).fit({ messages }, { ...place, ...more });
    const fitted = await fit({ hasLostBeginning: true });
    expect(fitted.messages.slice(1)).toEqual(messages);
    expect(textOf(fitted.messages.slice(0, 1))).toContain("The user is called Zed.");
    expect((await fit({})).messages).toEqual(messages);
  });

  it("has what nobody could summarise, and the next summary is made of it, in another process too", async () => {
    const failing = new ScriptedModel(() => ({ text: "" }));
    const first = await createCompressor(WINDOW).fit(
      { messages: turns(25) },
      { sessionId: "s", model: failing, signal: SIGNAL },
    );
    const [dropped] = appliedOf(first);
    expect(dropped?.method).toBe("drop");
    const model = new ScriptedModel(() => ({ text: "Short." }));
    const place = { sessionId: "s", model, signal: SIGNAL, readEarlier: async () => appliedOf(first) };
    const compressor = createCompressor(WINDOW);
    const again = await compressor.fit({ messages: turns(25) }, place);
    expect([again.messages, again.events]).toEqual([first.messages, []]);
    const grown = await compressor.fit({ messages: turns(40) }, place);
    expect(textOf(model.prompts.flat())).toContain("Question 0:");
    expect(textOf(model.prompts.flat())).not.toContain("are missing");
    expect(textOf(grown.messages)).not.toContain("are missing");
  });

  it("is not needed: a log that cannot be read is told of, and there is a new summary", async () => {
    const model = new ScriptedModel(() => ({ text: "Short." }));
    const readEarlier = () => Promise.reject(new Error("disk sk-secret-key-1234567"));
    const place = { sessionId: "s", model, signal: SIGNAL, readEarlier };
    const fitted = await createCompressor(WINDOW).fit({ messages: turns(25) }, place);
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

it("takes the present turn for what it is told it is, whatever was asked before in the same words", async () => {
  const model = new ScriptedModel(() => ({ text: "They spoke." }));
  const asked = say("Question:\ngo on\n\nPropose thoughts.");
  const again = [reply("I think so."), say("That cannot be used. Give it again.")];
  const history = [say("go on"), reply("Yes."), asked, reply("No."), ...turns(26)];
  const messages = [...history, asked, ...again];
  const place = { sessionId: "s", model, signal: SIGNAL, present: history.length };
  const fitted = await createCompressor(WINDOW).fit({ messages }, place);
  expect(appliedOf(fitted)).toHaveLength(1);
  expect(fitted.messages.slice(-3)).toEqual(messages.slice(-3));
});
