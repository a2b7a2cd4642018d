/**
 * What a client adds to a run: tools that it carries out, instructions, and the schema of the reply. They are in commands,
 * in `run_start` and in the options of a call. Each function reads one of them, returns undefined if there is none, and
 * throws `invalid_command` for one that is not valid or too large: it is refused as a whole.
 */
import { dropMissing, dropUndefined } from "./drop-undefined.ts";
import { describeValue } from "./fault.ts";
import { isDeeperThan, isJsonObject, type JsonObject } from "./json.ts";
import { LoomError } from "./loom-error.ts";
import { TOOL_NAME } from "./tool-rules.ts";
import type { RunStartEvent } from "./events.generated.ts";

/** A tool that the client of a run carries out. */
export interface ClientTool {
  /** 1 to 64 letters, digits, `_` and `-`. No tool of the agent may have the same name. */
  readonly name: string;
  /** Tells the model what the tool does and when to use it. Default: empty. */
  readonly description?: string;
  /** JSON Schema of the arguments, with the type `object`. Default: any object. */
  readonly inputSchema?: JsonObject;
}

/** Maximum number of client tools of a run, and maximum depth of their schemas and of the schema of the reply. */
const MAX_CLIENT_TOOLS = 128;
const MAX_SCHEMA_DEPTH = 64;
/** Maximum size of the client tools together, of the instructions, and of the schema of the reply, each in UTF-8. */
const MAX_BYTES = 32 * 1024;

export function readClientTools(value: unknown): readonly ClientTool[] | undefined {
  if (value == null) return undefined;
  if (!Array.isArray(value)) throw invalid(`\`client_tools\` must be a list of tools, not ${describeValue(value)}`);
  if (value.length > MAX_CLIENT_TOOLS)
    throw invalid(`A run has at most ${MAX_CLIENT_TOOLS} client tools, not ${value.length}`);
  const names = new Set<string>();
  const tools = value.map((tool: unknown) => readClientTool(tool, names));
  const bytes = countBytes(JSON.stringify(tools));
  if (bytes > MAX_BYTES)
    throw invalid(`The client tools of a run have at most ${MAX_BYTES} bytes of JSON, not ${bytes}`);
  return tools.length === 0 ? undefined : tools;
}

function readClientTool(tool: unknown, names: Set<string>): ClientTool {
  if (!isJsonObject(tool)) throw invalid(`A client tool must be an object, not ${describeValue(tool)}`);
  const { name, description, input_schema } = tool;
  if (typeof name !== "string" || !TOOL_NAME.test(name))
    throw invalid(
      `The name of a client tool must have 1 to 64 letters, digits, \`_\` and \`-\`, not ${describeValue(name)}`,
    );
  if (names.has(name)) throw invalid(`Two client tools have the name ${name}`);
  names.add(name);
  if (description != null && typeof description !== "string")
    throw invalid(`The description of the client tool ${name} must be a string`);
  if (input_schema != null && !isInputSchema(input_schema))
    throw invalid(`\`input_schema\` of the client tool ${name} must be a JSON Schema with the type "object"`);
  return dropMissing({ name, description: description?.toWellFormed(), inputSchema: input_schema });
}

function isInputSchema(value: unknown): value is JsonObject {
  if (!isJsonObject(value) || isDeeperThan(value, MAX_SCHEMA_DEPTH)) return false;
  return value["type"] === undefined || value["type"] === "object";
}

/** Writes a client tool as in a command or record. */
export function writeClientTool({
  name,
  description,
  inputSchema,
}: ClientTool): NonNullable<RunStartEvent["client_tools"]>[number] {
  return dropUndefined({ name, description, input_schema: inputSchema });
}

/** Reads the instructions that a client adds to the system prompt. */
export function readInstructions(value: unknown): string | undefined {
  if (value == null) return undefined;
  if (typeof value !== "string") throw invalid(`\`instructions\` must be a string, not ${describeValue(value)}`);
  const bytes = countBytes(value);
  if (bytes > MAX_BYTES)
    throw invalid(`\`instructions\` is limited to ${MAX_BYTES} bytes; it has ${bytes}`, { limit: MAX_BYTES });
  return value.trim() === "" ? undefined : value.toWellFormed();
}

/** Reads the JSON Schema of the reply and returns a copy. Checks only size and depth. */
export function readOutputSchema(value: unknown): JsonObject | undefined {
  if (value == null) return undefined;
  if (!isJsonObject(value))
    throw invalid(`\`output_schema\` must be a JSON Schema object, not ${describeValue(value)}`);
  if (isDeeperThan(value, MAX_SCHEMA_DEPTH))
    throw invalid(`\`output_schema\` is limited to a depth of ${MAX_SCHEMA_DEPTH}`, { limit: MAX_SCHEMA_DEPTH });
  const text = JSON.stringify(value);
  const bytes = countBytes(text);
  if (bytes > MAX_BYTES)
    throw invalid(`\`output_schema\` is limited to ${MAX_BYTES} bytes of JSON; it has ${bytes}`, { limit: MAX_BYTES });
  return JSON.parse(text) as JsonObject;
}

function countBytes(text: string): number {
  return new TextEncoder().encode(text).length;
}

function invalid(message: string, details?: JsonObject): LoomError {
  return new LoomError("invalid_command", message, details);
}
