/** The error that a tool throws to tell the model and the user why it failed. */
import { LoomError } from "../protocol/index.ts";

/**
 * An error whose message is meant for the model and the user. It is always shown, also where the messages of unexpected
 * exceptions are hidden (`exposeToolErrors: false`). Its code is `tool_failed`.
 *
 * ```ts
 * throw new ToolError("No customer has this number", { cause: error });
 * ```
 */
export class ToolError extends LoomError {
  constructor(message: string, options?: ErrorOptions) {
    super("tool_failed", message, {}, options);
  }
}
