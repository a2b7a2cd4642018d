/**
 * The rules of the run that what is being done now belongs to: a tool that calls an agent begins another run, and that
 * one must not do what the first may not.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { joinToolRules, type ToolRules } from "../protocol/index.ts";

const storage = new AsyncLocalStorage<ToolRules | undefined>();

/** Carries out a call of a run with these rules. */
export function withinRules<T>(rules: ToolRules | undefined, work: () => T): T {
  return storage.run(rules, work);
}

/** Those of a run that is to begin: its own, where it has any, and those of the run it is begun in. */
export function inheritRules(own?: ToolRules): { readonly toolRules?: ToolRules } {
  const toolRules = joinToolRules(own, storage.getStore());
  return toolRules === undefined ? {} : { toolRules };
}
