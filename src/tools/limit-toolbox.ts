/**
 * Applies tool rules to a toolbox. Denied tools are not offered to the model, and calls to them are rejected.
 * Concurrency limits remain shared with the original toolbox.
 */
import type { ToolRule, ToolRules } from "../protocol/index.ts";
import { findToolRule } from "../protocol/tool-rules.ts";
import type { Toolbox } from "./toolbox.ts";

/**
 * Returns a toolbox to which the rules apply, or the same toolbox if there are no rules. The strictest rule for a tool
 * applies.
 */
export function limitToolbox(toolbox: Toolbox, rules: readonly (ToolRules | undefined)[]): Toolbox {
  if (rules.every((each) => each === undefined)) return toolbox;
  const ruleOf = (name: string): ToolRule => findToolRule(rules, name);
  const isOffered = (name: string): boolean => ruleOf(name) !== "deny";
  const descriptions = toolbox.describe().filter(({ name }) => isOffered(name));
  return {
    ...toolbox,
    names: toolbox.names.filter(isOffered),
    ruleOf,
    describe: () => descriptions,
  };
}
