/**
 * What a run may do with tools, by their names: said by whoever lets the run begin, kept in its `run_start`, and held
 * against every call. A rule can only make a tool stricter than it is by itself.
 *
 * Invariant: what cannot be read as a rule denies.
 */
import { isJsonObject } from "./json.ts";

/** `allow`: as the tool itself has it; `ask`: never without consent; `deny`: never. */
export type ToolRule = "allow" | "ask" | "deny";

/** By the name of the tool; `*` is for those that are not named. */
export type ToolRules = { readonly [tool: string]: ToolRule };

export const DENY_ALL: ToolRules = { "*": "deny" };

const RULES: readonly ToolRule[] = ["allow", "ask", "deny"];

export function isToolRules(value: unknown): value is ToolRules {
  return isJsonObject(value) && Object.values(value).every((rule) => RULES.includes(rule as ToolRule));
}

/** Rules as a record has them: none where there are none, and no tool at all where they are no rules. */
export function readToolRules(value: unknown): ToolRules | undefined {
  if (value == null) return undefined;
  return isToolRules(value) ? value : DENY_ALL;
}

/** The strictest of what several have to say about a tool. */
export function findToolRule(all: readonly (ToolRules | undefined)[], tool: string): ToolRule {
  let strictest = 0;
  for (const rules of all) {
    if (rules === undefined) continue;
    const name = Object.hasOwn(rules, tool) ? tool : "*";
    if (!Object.hasOwn(rules, name)) continue;
    const found = RULES.indexOf(rules[name] as ToolRule);
    strictest = Math.max(strictest, found === -1 ? RULES.length - 1 : found);
  }
  return RULES[strictest] ?? "deny";
}

/** Both at once: of each tool the stricter of the two. */
export function joinToolRules(one: ToolRules | undefined, other: ToolRules | undefined): ToolRules | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  const names = new Set(["*", ...Object.keys(one), ...Object.keys(other)]);
  // Not by assignment: a tool may be called `__proto__`.
  return Object.fromEntries([...names].map((name): [string, ToolRule] => [name, findToolRule([one, other], name)]));
}
