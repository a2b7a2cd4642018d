/**
 * A toolbox under rules: what is denied is not offered, and found as denied where a model calls it all the same. The
 * tools and how many of them may run at once stay those of the box.
 */
import { findToolRule, type ToolRule, type ToolRules } from "../protocol/index.ts";
import type { Toolbox } from "./toolbox.ts";

export interface LimitOptions {
  /** Of everybody who has something to say: the strictest counts. */
  readonly rules: readonly (ToolRules | undefined)[];
  /** Tools that do nothing outside, such as the one an answer is given by. */
  readonly except?: readonly string[];
}

export function limitToolbox(toolbox: Toolbox, { rules, except = [] }: LimitOptions): Toolbox {
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
