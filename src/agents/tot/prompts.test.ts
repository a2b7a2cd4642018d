import { describe, expect, it } from "vitest";
import { askForAnswer, askForVote, type PathStep } from "./prompts.ts";

const asked = { system: undefined, history: [], question: "Which way?" };

function textOf([message]: ReturnType<typeof askForVote>): string {
  return message?.role === "user"
    ? message.content.map((part) => (part.type === "text" ? part.text : "")).join("")
    : "";
}

describe("a prompt", () => {
  it("for a vote shows observations once, and repeated steps shortened", () => {
    const shared: PathStep = { id: "1", text: `sum ${"x".repeat(4000)}`, actions: ["add()"], observations: ["seen"] };
    const paths = ["a", "b", "c"].map((text, index) => [shared, { id: `1.${index + 1}`, text }]);
    const text = textOf(askForVote(asked, paths));
    expect(text.split("Observation: seen")).toHaveLength(2);
    expect(text.length).toBeLessThan(4000 + 2 * 200 + 1000);
    const again = `sum ${"x".repeat(195)}…`;
    expect(text).toContain(`\nCandidate 2:\n1. ${again}\n2. b\n`);
    expect(text).toContain(`\nCandidate 3:\n1. ${again}\n2. c\n`);
  });

  it.each([1, 100, 1000])("shares the space between the results of %i calls", (count) => {
    const path = Array.from({ length: count }, (_, n) => ({ text: "look", observations: [`${n}`.repeat(20_000)] }));
    expect(textOf(askForAnswer(asked, path, "unsolved")).length).toBeLessThan(60_000 + count * 40 + 1000);
  });
});
