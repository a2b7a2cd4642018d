import { describe, expect, it } from "vitest";
import { collectToolRules, isToolRule } from "./collect-tool-rules.ts";

const tools = ["write_file", "http_fetch"];

describe("the setting tool-rules", () => {
  it.each([
    [[], undefined],
    [["write_file=ask", "http_fetch=deny"], { write_file: "ask", http_fetch: "deny" }],
    [["react:write_file=deny", "tot:http_fetch=deny"], { write_file: "deny" }],
    [["tot:*=deny"], undefined],
    [["write_file=deny", "react:write_file=allow"], { write_file: "deny" }],
    [["write_file=allow", "react:write_file=ask", "*=deny"], { write_file: "ask", "*": "deny" }],
    [["github__delete=deny"], { github__delete: "deny" }],
  ])("%j gives %j for react", (items, rules) => {
    expect(items.every(isToolRule)).toBe(true);
    expect(collectToolRules(items, { agent: "react", tools })).toEqual(rules);
  });

  it.each([
    "write_file",
    "write_file=",
    "write_file=no",
    "=deny",
    "unknown:write_file=deny",
    "write file=deny",
    "a:b:c=ask",
  ])("rejects %j", (item) => expect(isToolRule(item)).toBe(false));

  it("rejects an unknown tool, also in a rule of another agent", () => {
    for (const item of ["wrtie_file=deny", "tot:wrtie_file=deny"])
      expect(() => collectToolRules([item], { agent: "react", tools })).toThrow(/unknown tool wrtie_file/);
  });
});
