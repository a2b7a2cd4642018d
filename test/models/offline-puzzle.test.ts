import { describe, expect, it } from "vitest";
import {
  askForAnswer,
  askForProposals,
  askForSample,
  askForValue,
  askForVote,
  type SearchOutcome,
} from "../../src/agents/tot/prompts.ts";
import { callModel } from "../../src/models/call-model.ts";
import type { ModelMessage } from "../../src/models/model.ts";
import { OfflineModel } from "../../src/models/offline-model.ts";
import { recordListener } from "../contracts/record-listener.ts";
import { answerThought } from "../../src/models/offline/thoughts/answer-thought.ts";

const asked = (question: string) => ({ system: "Be brief.", history: [], question });
const steps = (...texts: readonly string[]) => texts.map((text) => ({ text }));
const say = (prompt: readonly ModelMessage[], seed = 1): string => answerThought(prompt, [], seed)?.text ?? "(nothing)";
const lastLine = (text: string): unknown => JSON.parse(text.split("\n").at(-1) ?? "");

const PUZZLE = asked("Game of 24: 4 9 10 13");
const SOLVED = steps("13 - 9 = 4 (left: 4 4 10)", "10 - 4 = 6 (left: 4 6)", "6 * 4 = 24 (left: 24)");

describe("a Game of 24", () => {
  it("gets as many distinct, valid proposals as requested", () => {
    const lines = say(askForProposals(PUZZLE, [], 16)).split("\n");
    expect(lines).toHaveLength(16);
    expect(new Set(lines).size).toBe(16);
    expect(lines).toContain("13 - 9 = 4 (left: 4 4 10)");
    expect(say(askForProposals(PUZZLE, [], 3)).split("\n")).toEqual(lines.slice(0, 3));
    for (const line of lines)
      expect(line).toMatch(/^\d+(\/\d+)? [-+*/] \d+ = \d+(\/\d+)? \(left: [\d/]+( [\d/]+){2}\)$/);
  });

  it("continues from the steps so far, also with fractions", () => {
    const next = say(askForProposals(PUZZLE, SOLVED.slice(0, 1), 40)).split("\n");
    expect(next).toContain("10 - 4 = 6 (left: 4 6)");
    const path = steps("8 / 3 = 8/3 (left: 8/3 3 8)", "3 - 8/3 = 1/3 (left: 1/3 8)");
    const hard = asked("make 24 from 3, 3, 8 and 8");
    expect(say(askForProposals(hard, path.slice(0, 1), 40)).split("\n")).toContain("3 - 8/3 = 1/3 (left: 1/3 8)");
    expect(say(askForProposals(hard, path, 40)).split("\n")[0]).toBe("8 / (1/3) = 24 (left: 24)");
  });

  it.each<[readonly string[], object]>([
    [["13 - 9 = 4 (left: 4 4 10)", "10 - 4 = 6 (left: 4 6)"], { score: 0.95, solved: false }],
    [["13 - 9 = 4 (left: 4 4 10)", "10 - 4 = 6 (left: 4 6)", "6 * 4 = 24 (left: 24)"], { score: 1, solved: true }],
    [["13 - 9 = 4 (left: 4 4 10)", "4 + 4 = 8 (left: 8 10)"], { score: 0, solved: false }],
    // Numbers that are not there, a wrong result, and text that is not a step. The numbers in parentheses are ignored.
    [["13 - 8 = 5 (left: 4 4 10)"], { score: 0, solved: false }],
    [["13 - 9 = 24 (left: 24)"], { score: 0, solved: false }],
    [["The answer is 24"], { score: 0, solved: false }],
  ])("is judged by arithmetic: %j", (texts, expected) => {
    const said = say(askForValue(PUZZLE, steps(...texts)));
    expect(said.split("\n").length).toBeGreaterThan(1);
    expect(lastLine(said)).toEqual(expected);
  });

  it("with three numbers left is only estimated", () => {
    const { score } = lastLine(say(askForValue(PUZZLE, SOLVED.slice(0, 1)))) as { score: number };
    expect(score).toBeGreaterThan(0.3);
    expect(score).toBeLessThan(0.95);
    expect(lastLine(say(askForValue(asked("24点：1 1 1 1"), steps("1 + 1 = 2（剩下：1 1 2）"))))).toEqual({
      score: 0,
      solved: false,
    });
  });

  it("is sampled with the seed", () => {
    const samples = Array.from({ length: 20 }, (_, seed) => say(askForSample(PUZZLE, []), seed));
    expect(new Set(samples).size).toBeGreaterThan(3);
    expect(say(askForSample(PUZZLE, []), 7)).toBe(samples[7]);
    const proposed = say(askForProposals(PUZZLE, [], 8)).split("\n");
    for (const sample of samples) expect(proposed).toContain(sample);
  });

  it("is voted on with the same judgement", () => {
    const bad = steps("13 + 9 = 22 (left: 4 10 22)", "22 + 10 = 32 (left: 4 32)");
    const said = say(askForVote(PUZZLE, [bad, SOLVED.slice(0, 2), bad]));
    expect(lastLine(said)).toEqual({ best: 2, solved: false });
    expect(lastLine(say(askForVote(PUZZLE, [bad, SOLVED.slice(0, 2), SOLVED])))).toEqual({ best: 3, solved: true });
  });

  it.each<[string, readonly string[], SearchOutcome, string]>([
    [
      "Game of 24: 4 9 10 13",
      SOLVED.map(({ text }) => text),
      "solved",
      "Offline model: (10 - 4) * (13 - 9) = 24, using each number once.",
    ],
    ["24点：3 3 8 8", ["8 / 3 = 8/3", "3 - 8/3 = 1/3", "8 / (1/3) = 24"], "solved", "离线模型：8 / (3 - 8 / 3) = 24，"],
    ["Game of 24: 1 1 1 1", [], "dead", "Offline model: 24 cannot be made from 1 1 1 1:"],
    ["Game of 24: 7 7 7 7", [], "dead", "Offline model: I found no way to make 24 from 7 7 7 7. Every branch"],
    ["用 7 7 7 7 算 24 点", [], "dead", "离线模型：没有找到用 7 7 7 7 算出 24 的方法。"],
    [
      "Game of 24: 7 7 7 7",
      ["7 + 7 = 14 (left: 7 7 14)"],
      "unsolved",
      "Offline model: I found no way to make 24 from 7 7 7 7. Closest attempt: 7, 7, 7 + 7 = 14. I did not try every combination",
    ],
    ["Game of 24: 5 7", [], "dead", "Offline model: 24 cannot be made from 5 7: I tried every combination."],
    [
      "Game of 24: 4 9 10 13 and what time is it?",
      SOLVED.map(({ text }) => text),
      "solved",
      "once. Not done: “and what time is it?”. Please ask for it separately.",
    ],
    // A claim that it is solved is verified.
    ["Game of 24: 4 9 10 13", ["13 + 9 = 22"], "solved", "Offline model: I found no way"],
  ])("is answered: %s %j", (question, texts, outcome, expected) => {
    expect(say(askForAnswer(asked(question), steps(...texts), outcome))).toContain(expected);
  });

  it.each([
    ["Game of 24: -4 9 10 13", "Answer: “-4 9 10 13” does not work. Use 2 to 6 whole numbers"],
    ["24点", "回答：用哪几个数？"],
  ])("that cannot be played is explained: %s", (question, expected) => {
    expect(say(askForProposals(asked(question), [], 16))).toContain(expected);
  });

  it("is streamed word by word, and tokens are counted", async () => {
    const { recorded, listener } = recordListener();
    const { text, usage } = await callModel(
      new OfflineModel({ seed: 3 }),
      { messages: askForProposals(PUZZLE, [], 16) },
      listener,
    );
    expect(text).toBe(say(askForProposals(PUZZLE, [], 16)));
    expect(recorded.filter(([what]) => what === "text").length).toBeGreaterThan(50);
    expect(usage.completionTokens).toBeGreaterThan(20);
  });
});
