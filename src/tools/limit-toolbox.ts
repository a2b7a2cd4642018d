/**
 * Applies tool rules to a toolbox. Denied tools are not offered to the model, and calls to them are rejected.
 * Concurrency limits remain shared with the original toolbox.
 */
import type { ToolRules } from "../protocol/index.ts";
import { findToolRule, type ToolRule } from "../protocol/tool-rules.ts";
import type { Toolbox } from "./toolbox.ts";

/** Options of `limitToolbox`. */
export interface LimitToolboxOptions {
  /** Rules to combine. The strictest rule for a tool applies. */
  readonly rules: readonly (ToolRules | undefined)[];
  /** Tools exempt from the rules, such as the one that returns structured output. Default: none. */
  readonly except?: readonly string[];
}

/** Returns a toolbox to which the rules apply, or the same toolbox if there are no rules. */
export function limitToolbox(toolbox: Toolbox, { rules, except = [] }: LimitToolboxOptions): Toolbox {
  if (rules.every((each) => each === undefined)) return toolbox;
  const ruleOf = (name: string): ToolRule => (except.includes(name) ? "allow" : findToolRule(rules, name));
  const isOffered = (name: string): boolean => ruleOf(name) !== "deny";
  const descriptions = toolbox.describe().filter(({ name }) => isOffered(name));
  return {
    ...toolbox,
    names: toolbox.names.filter(isOffered),
    ruleOf,
    describe: () => descriptions,
  };
}
