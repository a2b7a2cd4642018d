/** Reads the instructions that a client adds to the system prompt for one run: from commands, records and options. */
import { describeValue } from "./fault.ts";
import { LoomError } from "./loom-error.ts";

/** Maximum size of the instructions of a run, in bytes of UTF-8; code `invalid_command`. */
const MAX_INSTRUCTION_BYTES = 32 * 1024;

/** Undefined if there are none. Throws `invalid_command`. */
export function readInstructions(value: unknown): string | undefined {
  if (value == null) return undefined;
  if (typeof value !== "string")
    throw new LoomError("invalid_command", `\`instructions\` must be a string, not ${describeValue(value)}`);
  const bytes = new TextEncoder().encode(value).length;
  if (bytes > MAX_INSTRUCTION_BYTES)
    throw new LoomError(
      "invalid_command",
      `\`instructions\` is limited to ${MAX_INSTRUCTION_BYTES} bytes; it has ${bytes}`,
      { limit: MAX_INSTRUCTION_BYTES },
    );
  return value.trim() === "" ? undefined : value.toWellFormed();
}
