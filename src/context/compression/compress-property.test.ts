// Properties of every compressed conversation: it keeps the budget, the rules of providers and required messages, and
// compressing it again changes nothing.
import fc from "fast-check";
import { expect, it } from "vitest";
import { findRuleViolation } from "../../../test/agents/find-rule-violation.ts";
import { joinUserMessages } from "../../models/join-user-messages.ts";
import { ScriptedModel } from "../../models/testing.ts";
import type { ModelMessage } from "../../models/model.ts";
import { isLoomError } from "../../protocol/index.ts";
import { Compressor } from "./compressor.ts";
import { PromptTokens } from "./prompt-tokens.ts";
import { conversations } from "../../../test/contracts/random-conversation.ts";
import { splitTurns } from "./choose-cut.ts";
import { loadTokenCounter } from "./token-counter.ts";
import { fitPrompt } from "../../../test/contracts/fit-prompt.ts";
import { LONG } from "../../../test/sampling.ts";

const NUM_RUNS = LONG ? 2000 : 10;
const FACT = "The customer's name is 王芳.";
/** Tokens of the text around a summary plus the shortest summary. */
const SUMMARY = 64 + 60;
const SIGNAL = new AbortController().signal;

const scripts = fc.constantFrom("writes", "is empty", "fails", "talks");

function createModel(kind: string): ScriptedModel {
  return new ScriptedModel((_, turn) => {
    if (kind === "fails") return { fault: { kind: "throw", error: new Error("no") } };
    if (kind === "is empty") return { text: " " };
    if (kind === "talks") return { text: "and then ".repeat(5000), chunk: 1000 };
    return { text: `Summary, part ${turn}.` };
  });
}

it("keeps the budget, provider rules and required messages, and is idempotent", async () => {
  const tokens = new PromptTokens(await loadTokenCounter({ modelId: "scripted" }));
  const seen = { fits: 0, summary: 0, drop: 0, cut: 0, latest: 0, long: 0, refused: 0 };
  await fc.assert(
    fc.asyncProperty(
      conversations,
      fc.integer({ min: 600, max: 6000 }),
      fc.integer({ min: 1, max: 4 }),
      scripts,
      async ({ messages, question, present }, contextWindow, keepTurns, kind) => {
        const model = createModel(kind);
        const compressor = new Compressor({ contextWindow, keepTurns, pinned: [FACT] });
        const options = { model, signal: SIGNAL, turnStart: present };
        let fitted;
        try {
          fitted = await fitPrompt(compressor, { messages }, options);
        } catch (error) {
          // Only required messages are left, and they alone are too large.
          expect(isLoomError(error) && error.code).toBe("prompt_too_large");
          const last = messages.findLastIndex(({ role }) => role === "assistant");
          const must = messages.filter(
            (message, index) =>
              message.role === "system" ||
              index >= last ||
              JSON.stringify(message.content).includes(JSON.stringify(question)),
          );
          expect(tokens.countMessages(must) + SUMMARY).toBeGreaterThan(contextWindow * 0.8);
          seen.refused++;
          return;
        }
        const given = fitted.messages;
        expect(findRuleViolation(joinUserMessages(given))).toBeUndefined();
        const [head, ...rest] = given;
        const own = messages[0]?.role === "system" ? messages.slice(1) : messages;
        expect(head?.role === "system" && head.content.endsWith(FACT)).toBe(true);
        if (messages[0]?.role === "system" && head?.role === "system")
          expect(head.content.startsWith(messages[0].content)).toBe(true);
        expect(rest[0]?.role).toBe("user");
        // Without the summary and shortened results, the messages are a part of the given ones in the same order.
        const kept = rest.filter((message) => own.includes(message));
        expect(kept).toEqual(own.filter((message) => kept.includes(message)));
        // The question and the latest message.
        expect(
          kept.some(
            ({ content }) => content.length === 1 && JSON.stringify(content).includes(JSON.stringify(question)),
          ),
        ).toBe(true);
        expect(rest.slice(-1)[0]?.role).toBe(own.at(-1)?.role);
        const calls = (list: readonly ModelMessage[]) =>
          list
            .flatMap((message) => (message.role === "tool" ? message.content : []))
            .map(({ toolCallId }) => toolCallId);
        if (own.at(-1)?.role === "tool") expect(calls(rest.slice(-1))).toEqual(calls(own.slice(-1)));
        const size = tokens.countRest({}) + tokens.countMessages(given);
        const applied = fitted.events.findLast(({ type }) => type === "compression_applied");
        if (applied?.type === "compression_applied") {
          expect(applied.after_tokens).toBe(size);
          expect(applied.after_tokens).toBeLessThan(applied.before_tokens);
          if (applied.method !== "cut") seen[applied.method as "summary"]++;
        } else seen.fits++;
        if (JSON.stringify(given).includes("[cut: ")) seen.cut++;
        const limit = Math.floor(contextWindow * 0.8);
        // The latest turns, if they fit.
        const latest = own.slice(splitTurns(own, present).starts.at(-keepTurns) ?? 0);
        const needed = tokens.countRest({}) + tokens.countMessages([head as ModelMessage, ...latest]);
        if (needed + SUMMARY + contextWindow * 0.1 <= (limit + contextWindow * 0.5) / 2) {
          seen.latest++;
          expect(kept.slice(-latest.length)).toEqual(latest);
        }
        if (size > limit) {
          // Nothing is left that could be removed: only the summary, the question, one round and notes.
          seen.long++;
          expect(kept.filter(({ role }) => role === "assistant").length).toBeLessThanOrEqual(1);
        }
        const asked = model.requests.length;
        const asking = rest.findIndex((message) => message === own[present]);
        const again = await fitPrompt(compressor, { messages: given }, { ...options, turnStart: asking });
        expect(again.messages).toEqual(given);
        expect(again.events.filter(({ type }) => type === "compression_applied")).toEqual([]);
        // The same prompt and a longer one use the same summary without new events or model calls.
        const repeated = await fitPrompt(compressor, { messages }, options);
        expect(repeated.messages).toEqual(given);
        expect(repeated.events.filter(({ type }) => type === "compression_applied")).toEqual([]);
        expect(model.requests.length).toBe(asked);
      },
    ),
    { numRuns: NUM_RUNS, seed: 7 },
  );
  // The samples must cover all cases.
  for (const [what, times] of Object.entries(seen))
    if (what !== "refused") expect([what, times > 0]).toEqual([what, true]);
  expect(seen.refused).toBeLessThan(NUM_RUNS / 3);
}, 600_000);
