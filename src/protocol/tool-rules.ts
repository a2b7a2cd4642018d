/**
 * Tool rules: what a run may do with each tool. They are set when the run starts, stored in its `run_start` and checked
 * on every call. A rule can restrict a tool, but never grant more than the tool itself allows.
 *
 * Invariant: an invalid rule denies.
 */
import { isJsonObject } from "./json.ts";

/** `allow`: use the tool's own policy; `ask`: always ask for approval; `deny`: never call it. */
export type ToolRule = "allow" | "ask" | "deny";

/** Keyed by tool name; `*` applies to all other tools. */
export type ToolRules = { readonly [tool: string]: ToolRule };

/** Denies every tool. */
export const DENY_ALL: ToolRules = { "*": "deny" };

/** Names of tools that all model providers accept. */
export const TOOL_NAME = /^[a-zA-Z0-9_-]{1,64}$/;

const RULES: readonly ToolRule[] = ["allow", "ask", "deny"];

/** True for an object in which every value is a rule. */
export function isToolRules(value: unknown): value is ToolRules {
  return isJsonObject(value) && Object.values(value).every((rule) => RULES.includes(rule as ToolRule));
}

/** Reads the rules of a record: undefined if there are none, and `DENY_ALL` if they are invalid. */
export function readToolRules(value: unknown): ToolRules | undefined {
  if (value == null) return undefined;
  return isToolRules(value) ? value : DENY_ALL;
}

/** Returns the strictest rule that any of the given rule sets has for a tool. */
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

/** Combines two rule sets: for each tool, the stricter rule applies. */
export function joinToolRules(one: ToolRules | undefined, other: ToolRules | undefined): ToolRules | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  const names = new Set(["*", ...Object.keys(one), ...Object.keys(other)]);
  // Object.fromEntries instead of assignment, because a tool may be named `__proto__`.
  return Object.fromEntries([...names].map((name): [string, ToolRule] => [name, findToolRule([one, other], name)]));
}
