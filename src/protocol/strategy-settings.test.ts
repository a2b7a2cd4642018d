import { describe, expect, it } from "vitest";
import {
  checkCaps,
  checkStrategySettings,
  describeSettings,
  readStrategySettings,
  toAgentOptions,
  toStrategySettings,
} from "./strategy-settings.ts";

function failure(check: () => unknown): unknown {
  try {
    check();
  } catch (error) {
    return error;
  }
  return undefined;
}

describe("strategy settings", () => {
  it.each([
    [{ bean: 3 }, "Unknown setting `strategy.bean`; did you mean `strategy.beam`?"],
    [{ beam: [3] }, "`strategy.beam` must be a string or a number, not an array"],
    ["breadth", '`strategy` must be an object, not "breadth"'],
  ])("refuses %j", (given, message) => {
    expect(failure(() => readStrategySettings(given))).toMatchObject({ code: "invalid_command", message });
  });

  it("counts null as absent", () => {
    expect(readStrategySettings({ beam: null, depth: 2 })).toEqual({ depth: 2 });
    expect(readStrategySettings({})).toBeUndefined();
  });

  it.each([
    ["tot", { beam: 0 }, "`strategy.beam` must be an integer from 1 to 2000, not 0"],
    ["tot", { beam: "5" }, '`strategy.beam` must be an integer from 1 to 2000, not "5"'],
    ["tot", { search: "dept" }, '`strategy.search` must be breadth or depth, not "dept"; did you mean "depth"?'],
    [
      "tot",
      { layers: 2 },
      "`strategy.layers` is not a setting of the agent tot; its settings are search, generator, evaluator, samples, threshold, beam, candidates, depth, backtracks",
    ],
    ["got", { depth: 1 }, "`strategy.depth` is not a setting of the agent got; its settings are candidates, layers"],
    ["agot", { depth: 6 }, "`strategy.depth` must be an integer from 0 to 5, not 6"],
  ] as const)("refuses for %s: %j", (agent, given, message) => {
    expect(failure(() => checkStrategySettings(agent, given))).toMatchObject({ code: "invalid_command", message });
  });

  it("refuses a value above the cap and names the cap", () => {
    expect(failure(() => checkCaps("tot", { beam: 9 }, { caps: { beam: 8 } }))).toMatchObject({
      code: "invalid_command",
      message: "`strategy.beam` is 9; this server allows at most 8 (its cap `tot.beam`)",
      details: { option: "strategy.beam", cap: "tot.beam", limit: 8 },
    });
    checkCaps("tot", { beam: 8, threshold: 1, search: "depth" }, { caps: { beam: 8 } });
  });

  it("lets the operator's own value raise the default cap, but not a given one", () => {
    expect(failure(() => checkCaps("tot", { beam: 30 }, { own: { beam: 30 } }))).toBeUndefined();
    expect(failure(() => checkCaps("tot", { beam: 30 }, { own: { beam: 30 }, caps: { beam: 4 } }))).toBeDefined();
  });

  it("stand for options of the agent, and are read from them", () => {
    const settings = { search: "depth", candidates: 3, depth: 2 };
    const options = { strategy: "depth", candidates: 3, maxDepth: 2 };
    expect(toAgentOptions("tot", settings)).toEqual(options);
    expect(toStrategySettings("tot", { ...options, maxMs: 5 })).toEqual(settings);
    expect(toAgentOptions("agot", { candidates: 3, layers: 2 })).toEqual({ branches: 3, maxLayers: 2 });
  });

  it("are listed with what a message may choose", () => {
    const listed = describeSettings("agot", { caps: { layers: 2 }, own: { candidates: 7 } });
    expect(listed.map(({ label: _label, about: _about, ...rest }) => rest)).toEqual([
      { name: "candidates", value: 7, least: 1, most: 7 },
      { name: "depth", value: 2, least: 0, most: 3 },
      { name: "layers", value: 1, least: 1, most: 2 },
    ]);
  });
});
