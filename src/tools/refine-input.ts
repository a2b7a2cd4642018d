/**
 * A tool whose arguments, once they are right, are brought into their plain form: so that who decides about a call, the
 * user who is asked and the tool itself all see the same, and no other spelling gets round any of them.
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
