/**
 * Tools that the client of a run carries out, as the client declares them: in commands, in `run_start` and in the
 * options of a call. A declaration that is not valid is refused as a whole.
 */
import { dropUndefined } from "./drop-undefined.ts";
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

/** Maximum number of client tools of a run, and maximum size of all together as JSON; code `invalid_command`. */
const MAX_CLIENT_TOOLS = 128;
const MAX_CLIENT_TOOL_BYTES = 32 * 1024;
const MAX_SCHEMA_DEPTH = 64;

/** Reads the client tools of a command or record; undefined if there are none. Throws `invalid_command`. */
export function readClientTools(value: unknown): readonly ClientTool[] | undefined {
  if (value == null) return undefined;
  if (!Array.isArray(value)) throw invalid(`\`client_tools\` must be a list of tools, not ${describeValue(value)}`);
  if (value.length > MAX_CLIENT_TOOLS)
    throw invalid(`A run has at most ${MAX_CLIENT_TOOLS} client tools, not ${value.length}`);
  const names = new Set<string>();
  const tools = value.map((tool: unknown) => readClientTool(tool, names));
  const bytes = new TextEncoder().encode(JSON.stringify(tools)).length;
  if (bytes > MAX_CLIENT_TOOL_BYTES)
    throw invalid(`The client tools of a run have at most ${MAX_CLIENT_TOOL_BYTES} bytes of JSON, not ${bytes}`);
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
  return {
    name,
    ...(description == null ? {} : { description: description.toWellFormed() }),
    ...(input_schema == null ? {} : { inputSchema: input_schema }),
  };
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

function invalid(message: string): LoomError {
  return new LoomError("invalid_command", message);
}
