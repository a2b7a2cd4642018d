import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DENY_ALL, findToolRule, isToolRules, joinToolRules, readToolRules, type ToolRules } from "./tool-rules.ts";

describe("tool rules", () => {
  it.each([
    [[], "allow"],
    [[undefined], "allow"],
    [[{}], "allow"],
    [[{ other: "deny" }], "allow"],
    [[{ tool: "ask" }], "ask"],
    [[{ "*": "deny" }], "deny"],
    // The name takes precedence over *.
    [[{ "*": "deny", tool: "allow" }], "allow"],
    // The strictest of several, in any order.
    [[{ tool: "allow" }, { "*": "ask" }], "ask"],
    [[{ tool: "ask" }, { tool: "deny" }, { tool: "allow" }], "deny"],
    // An invalid rule denies.
    [[{ tool: "maybe" }], "deny"],
    [[{ tool: null }], "deny"],
    [[JSON.parse('{"__proto__":{"tool":"deny"}}')], "allow"],
  ] as [(ToolRules | undefined)[], string][])("%j gives %s", (rules, rule) => {
    expect(findToolRule(rules, "tool")).toBe(rule);
  });

  it.each(["constructor", "__proto__", "toString", "hasOwnProperty"])("find the rule of a tool named %s", (name) => {
    expect(findToolRule([{ "*": "ask" }], name)).toBe("ask");
    expect(findToolRule([JSON.parse(`{"${name}":"deny"}`) as ToolRules], name)).toBe("deny");
  });

  it("deny every tool if they are invalid", () => {
    expect([readToolRules(undefined), readToolRules(null)]).toEqual([undefined, undefined]);
    expect(readToolRules({ a: "ask" })).toEqual({ a: "ask" });
    for (const wrong of [7, "deny", [], { a: "no" }, { a: "ask", b: 1 }]) {
      expect(isToolRules(wrong)).toBe(false);
      expect(readToolRules(wrong)).toBe(DENY_ALL);
    }
  });

  it("apply the stricter rule of each tool when joined", () => {
    const tool = fc.constantFrom("a", "b", "__proto__", "constructor", "*");
    const rule = fc.constantFrom("allow", "ask", "deny");
    const rules = fc.option(
      fc.array(fc.tuple(tool, rule)).map((entries) => Object.fromEntries(entries)),
      { nil: undefined },
    );
    fc.assert(
      fc.property(rules, rules, tool, (one, other, name) => {
        const joined = joinToolRules(one, other);
        expect(findToolRule([joined], name)).toBe(findToolRule([one, other], name));
        expect(findToolRule([JSON.parse(JSON.stringify(joined ?? {})) as ToolRules], name)).toBe(
          findToolRule([joined], name),
        );
      }),
    );
  });
});
