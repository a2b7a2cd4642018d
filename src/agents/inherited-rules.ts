/** Passes the tool rules of a run to the runs that its tools start, which must not be allowed more. */
import { AsyncLocalStorage } from "node:async_hooks";
import type { ToolRules } from "../protocol/index.ts";
import { joinToolRules } from "../protocol/tool-rules.ts";

const storage = new AsyncLocalStorage<ToolRules | undefined>();

/** Runs a tool call so that runs started inside it inherit these rules. */
export function runWithRules<T>(rules: ToolRules | undefined, work: () => T): T {
  return storage.run(rules, work);
}

/** The rules of a new run: its own, combined with those of the run it is started in. */
export function inheritRules(own?: ToolRules): { readonly toolRules?: ToolRules } {
  const toolRules = joinToolRules(own, storage.getStore());
  return toolRules === undefined ? {} : { toolRules };
}
