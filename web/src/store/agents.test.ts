// Kind and model select one agent.
import { describe, expect, it } from "vitest";
import { findAgent, listAgentOptions, type ListedAgent } from "./agents.ts";

const agent = (name: string, kind: string, model?: string, more: Partial<ListedAgent> = {}): ListedAgent => ({
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
  it("are grouped by kind, with their models", () => {
    const choices = listAgentOptions(AGENTS);
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
  ])("%s with %s selects %s", (name, model, expected) => {
    expect(findAgent(listAgentOptions(AGENTS), name, model)?.agent.name).toBe(expected);
  });

  it("with custom names stay separate, even if they are alike", () => {
    const own = [agent("support", "react", "a/b"), agent("sales", "react", "a/b"), agent("x:y", "react", "z")];
    expect(listAgentOptions(own).map(({ name }) => name)).toEqual(["support", "sales", "x:y"]);
    expect(findAgent(listAgentOptions(own), undefined, undefined)?.agent.name).toBe("support");
    expect(findAgent([], "react", undefined)).toBeUndefined();
  });
});
