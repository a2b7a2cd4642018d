/**
 * Normalizes the arguments of a tool after validation. The approval policy, the user and the tool then see the same
 * arguments, so a different spelling cannot bypass a check.
 */
import type { JsonObject } from "../protocol/index.ts";
import type { Tool } from "./tool.ts";

export function refineInput<Input extends object>(tool: Tool, refine: (input: Input) => Input | Promise<Input>): Tool {
  return {
    ...tool,
    async validate(input) {
      const checked = await tool.validate(input);
      if (!checked.ok) return checked;
      const value = await refine(checked.value as Input);
      return { ok: true, value, arguments: value as JsonObject };
    },
  };
}
