import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { callModel } from "./call-model.ts";
import { ScriptedModel } from "./scripted-model.ts";
import { removeThinking, ThinkTags } from "./think-tags.ts";

const request = { messages: [{ role: "user", content: [{ type: "text", text: "Hi" }] }] } as const;

async function stream(text: string, chunk: number) {
  const heard = { text: "", reasoning: "" };
  const result = await callModel(new ScriptedModel([{ text, chunk }]), request, {
    onText: (delta) => void (heard.text += delta),
    onReasoning: (delta) => void (heard.reasoning += delta),
    onToolInput: () => undefined,
    onToolCall: () => undefined,
  });
  return { ...heard, result };
}

describe("reasoning in the text of a model", () => {
  it.each([1, 2, 3, 7, 1000])("is streamed as reasoning, in deltas of %d characters", async (chunk) => {
    const { text, reasoning, result } = await stream("\n<think>Is 1 < 2?</thin\nyes</think>\n\nYes: <b>1</b>", chunk);
    expect([text, reasoning]).toEqual(["Yes: <b>1</b>", "Is 1 < 2?</thin\nyes"]);
    expect(result.text).toBe(text);
    expect(result.content.map(({ type }) => type)).toEqual(["reasoning", "text"]);
  });

  it.each([
    ["that never ends", "<think>Hm", "", "Hm"],
    ["in an answer about it stays", "Write <think>x</think>.", "Write <think>x</think>.", ""],
    ["that only begins like a tag stays", "<thin", "<thin", ""],
    ["with another name", "<Thinking>a</Thinking>b", "b", "a"],
  ])("%s", async (_, said, text, reasoning) => {
    expect(await stream(said, 2)).toMatchObject({ text, reasoning });
  });

  it("loses nothing of a text without tags, however it is split", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: fc.constantFrom("<", "t", "think>", "/", " ", "x") })), (deltas) => {
        fc.pre(!/^\s*<think>/.test(deltas.join("")));
        const tags = new ThinkTags();
        const pieces = [...deltas.flatMap((delta) => tags.split(delta)), ...tags.end()];
        expect(pieces.map(({ delta }) => delta).join("")).toBe(deltas.join(""));
        expect(pieces.every(({ type }) => type === "text")).toBe(true);
      }),
    );
  });

  it.each([
    ["a<think>b</think>c<THINKING>d</thinking>e", "ace"],
    ["b</think>c", "c"],
    ["a<think>b", "a"],
    ["1 < 2 and <b>", "1 < 2 and <b>"],
  ])("is removed from %j", (text, expected) => {
    expect(removeThinking(text)).toBe(expected);
    expect(removeThinking("<think>".repeat(200_000))).toBe("");
  });
});
