// Two choices, how and by which model, name one agent.
import { describe, expect, it } from "vitest";
import { findAgent, listChoices } from "./agents.ts";
import type { AgentInfo } from "./page-state.ts";

const agent = (name: string, kind: string, model?: string, more: Partial<AgentInfo> = {}): AgentInfo => ({
  name,
  kind,
  ...(model === undefined ? {} : { model }),
  tools: [],
  is_default: false,
  ...more,
});

const AGENTS = [
  agent("react", "react", "offline", { is_default: true }),
  agent("tot", "tot", "offline"),
  agent("got", "got", "offline"),
  agent("agot", "got", "offline", { is_adaptive: true }),
  agent("react:openai/gpt-5", "react", "openai/gpt-5"),
  agent("tot:openai/gpt-5", "tot", "openai/gpt-5"),
];

describe("agents", () => {
  it("are listed by their way of working, the models together", () => {
    const choices = listChoices(AGENTS);
    expect(choices.map(({ name, kind, agents }) => [name, kind, agents.length])).toEqual([
      ["react", "react", 2],
      ["tot", "tot", 2],
      ["got", "got", 1],
      ["agot", "agot", 1],
    ]);
  });

  it.each([
    [undefined, undefined, "react"],
    ["tot", undefined, "tot"],
    ["tot", "openai/gpt-5", "tot:openai/gpt-5"],
    ["got", "openai/gpt-5", "got"],
    ["gone", "gone", "react"],
  ])("%s by %s is %s", (name, model, expected) => {
    expect(findAgent(listChoices(AGENTS), name, model)?.agent.name).toBe(expected);
  });

  it("of one's own keep their names, also where they are alike", () => {
    const own = [agent("support", "react", "a/b"), agent("sales", "react", "a/b"), agent("x:y", "react", "z")];
    expect(listChoices(own).map(({ name }) => name)).toEqual(["support", "sales", "x:y"]);
    expect(findAgent(listChoices(own), undefined, undefined)?.agent.name).toBe("support");
    expect(findAgent([], "react", undefined)).toBeUndefined();
  });
});
