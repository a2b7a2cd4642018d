// Tool results are cut last, and each result is cut independently.
import fc from "fast-check";
import { expect, it } from "vitest";
import type { ModelMessage } from "../../models/model.ts";
import { ScriptedModel } from "../../models/testing.ts";
import { Compressor } from "./compressor.ts";
import { callAndResult, conversations, reply, say } from "../../../test/contracts/random-conversation.ts";
import { splitTurns } from "./choose-cut.ts";
import { fitPrompt } from "../../../test/contracts/fit-prompt.ts";
import { LONG } from "../../../test/sampling.ts";

const SIGNAL = new AbortController().signal;
const WORDS = "the warp and the weft are woven on the loom ";

function createFitter(contextWindow = 4000) {
  const model = new ScriptedModel(() => ({ text: "So far." }));
  const compressor = new Compressor({ contextWindow });
  return (messages: readonly ModelMessage[], present: number) =>
    fitPrompt(compressor, { messages }, { model, signal: SIGNAL, turnStart: present });
}

const methodsOf = ({ events }: { readonly events: readonly object[] }) =>
  events.flatMap((event) => ("method" in event ? [event.method] : []));

it("distinguishes results whose calls have the same id", async () => {
  const fit = createFitter();
  const first = [say("One"), ...callAndResult("call_0", WORDS.repeat(800))];
  expect(methodsOf(await fit(first, 0))).toEqual(["cut"]);
  const second = [...first, reply("Done."), say("Two"), ...callAndResult("call_0", `${WORDS.repeat(100)} THE END`)];
  const fitted = await fit(second, 4);
  expect(fitted.messages.at(-1)).toBe(second.at(-1));
});

it("cuts to slightly below the limit and emits every cut", async () => {
  const fit = createFitter();
  let messages = [say("Read.")];
  for (let round = 0; round < 4; round++) {
    messages = [...messages, ...callAndResult("call_0", `${round} ${WORDS.repeat(400)}`)];
    const fitted = await fit(messages, 0);
    expect(methodsOf(fitted).at(-1)).toBe("cut");
    const last = fitted.events.at(-1);
    if (last?.type !== "compression_applied") throw new Error("no cut was emitted");
    expect(last.after_tokens).toBeLessThanOrEqual(3200);
    expect(last.after_tokens).toBeGreaterThan(2900);
    const sent = JSON.stringify(fitted.messages.at(-1));
    const [, kept, all] = /first (\d+) of (\d+) characters/.exec(sent) ?? [];
    expect(Number(all)).toBe(`${round} ${WORDS.repeat(400)}`.length);
    expect(sent).toContain(`${round} ${WORDS.repeat(400)}`.slice(0, Number(kept)));
  }
});

it.runIf(LONG)("keeps the latest result while older ones can be cut", async () => {
  let cut = 0;
  await fc.assert(
    fc.asyncProperty(conversations, fc.integer({ min: 600, max: 6000 }), async ({ messages, present }, window) => {
      const fitted = await createFitter(window)(messages, present);
      const own = messages.filter(({ role }) => role !== "system");
      const newest = own.findLast(({ role }) => role === "tool");
      const begin = splitTurns(own, present).current;
      if (newest === undefined || own.indexOf(newest) < begin || fitted.messages.includes(newest)) return;
      cut++;
      // Besides it: the summary, the question and its call.
      expect(fitted.messages.filter(({ role }) => role === "assistant")).toHaveLength(1);
      expect(fitted.messages.filter((message) => own.indexOf(message) >= 0 && own.indexOf(message) < begin)).toEqual(
        [],
      );
    }),
    { numRuns: LONG ? 1000 : 40, seed: 7 },
  );
  expect(cut).toBeGreaterThan(0);
});
