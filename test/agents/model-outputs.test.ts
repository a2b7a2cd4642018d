/**
 * A corpus of model outputs with their expected reading: about 20 styles and more for each of 6 prompts. `null` means
 * that the output cannot be read and must be requested again.
 */
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readComplex } from "../../src/agents/got/expand-node.ts";
import { readPlan } from "../../src/agents/got/read-plan.ts";
import { readResultScores } from "../../src/agents/got/score-results.ts";
import { readProposals } from "../../src/agents/tot/read-thoughts.ts";
import { readValue, readVote } from "../../src/agents/tot/read-verdict.ts";
import type { Json } from "../../src/protocol/index.ts";
import { SAMPLES } from "../sampling.ts";

interface ModelOutputCase {
  readonly style: string;
  readonly output: string;
  readonly expected: Json;
}

const LIMITS = { max: 16, maxCharacters: 4000, maxBytes: 16_000 };
const orNull = <T>(read: T | string): T | null => (typeof read === "string" ? null : read);

const READERS: { readonly [prompt: string]: (output: string) => unknown } = {
  candidates: (text) =>
    readProposals({ content: [{ type: "text", text }], calls: [] }, LIMITS).candidates.map((one) => one.text),
  value: (text) => orNull(readValue(text)),
  vote: (text) => orNull(readVote(text, 3)),
  plan: (text) => {
    const outcome = readPlan(text, 50);
    return typeof outcome === "string"
      ? null
      : outcome.nodes.map(({ id, needs, operation }) => ({ id, needs, operation }));
  },
  complexity: (text) => readComplex(text) ?? null,
  scores: (text) => orNull(readResultScores(text, [{ id: "a" }, { id: "b" }])),
};

const CORPUS = Object.keys(READERS).map((prompt) => {
  const file = new URL(`model-outputs/${prompt}.json`, import.meta.url);
  return [prompt, JSON.parse(readFileSync(file, "utf8")) as readonly ModelOutputCase[]] as const;
});

describe.each(CORPUS)("an output with %s", (prompt, cases) => {
  it.each(cases.map(({ style, ...rest }) => [style, rest] as const))("as %s", (_, { output, expected }) => {
    expect(READERS[prompt]?.(output)).toEqual(expected);
  });
});

it("covers at least 20 styles for each of 6 prompts", () => {
  expect(CORPUS.map(([, cases]) => cases.length >= 20)).toEqual([true, true, true, true, true, true]);
});

/** Changes that do not change what an output says. */
const MUTATIONS: readonly ((text: string) => string)[] = [
  (text) => `\n\n${text}\n\n`,
  (text) => text.replaceAll("\n", "\r\n"),
  (text) => `<think>\nPerhaps {"score": 0, "best": 1}, or not.\n</think>\n${text}`,
  (text) => `The user wants an answer.\n</think>\n\n${text}`,
  (text) => `\`\`\`json\n${text}\n\`\`\``,
  (text) => `\uFEFF${text}`,
  (text) => `${text}   `,
  (text) => text.replaceAll('": ', '" : '),
];

it("reads an output the same after changes that do not change what it says", () => {
  const cases = CORPUS.flatMap(([prompt, list]) => list.map((one) => ({ prompt, ...one })));
  const mutations = fc.array(fc.constantFrom(...MUTATIONS), { minLength: 1, maxLength: 3 });
  fc.assert(
    fc.property(fc.constantFrom(...cases), mutations, ({ prompt, output, expected }, chain) => {
      // Marks of reasoning or a fence inside a fence change what is in it.
      fc.pre(!/```|think>/.test(output));
      let text = output;
      for (const mutate of new Set(chain)) text = mutate(text);
      expect(READERS[prompt]?.(text)).toEqual(expected);
    }),
    { numRuns: SAMPLES.sessions * 4, seed: 11 },
  );
});

it("never throws and never invents a value, whatever is cut off", () => {
  const cases = CORPUS.flatMap(([prompt, list]) => list.map((one) => ({ prompt, ...one })));
  fc.assert(
    fc.property(fc.constantFrom(...cases), fc.nat(400), fc.string({ maxLength: 5 }), (one, at, noise) => {
      for (const text of [one.output.slice(0, at), one.output.slice(0, at) + noise + one.output.slice(at)])
        expect(() => READERS[one.prompt]?.(text)).not.toThrow();
      const read = READERS[one.prompt]?.(`{"score": 0.${"7".repeat(at % 3)}`);
      if (one.prompt === "value") expect(read).toBeNull();
    }),
    { numRuns: SAMPLES.sessions * 4, seed: 11 },
  );
});
