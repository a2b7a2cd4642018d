/**
 * Adds the tools that the client of a run carries out to the toolbox of an agent. The model is offered both alike, and
 * tool rules apply to both.
 */
import type { ClientTool } from "../protocol/run-additions.ts";
import { type JsonObject, LoomError } from "../protocol/index.ts";
import { defineTool } from "./define-tool.ts";
import { describeInput } from "./describe-input.ts";
import type { StandardSchema } from "./standard-schema.ts";
import type { Tool } from "./tool.ts";
import { createToolbox, type Toolbox } from "./toolbox.ts";

/** Returns a toolbox with all tools. Throws `invalid_command` if a client tool has the name of another tool. */
export function addClientTools(toolbox: Toolbox, clientTools: readonly ClientTool[]): Toolbox {
  if (clientTools.length === 0) return toolbox;
  assertNoSameName(
    clientTools.map(({ name }) => name),
    (name) => toolbox.find(name) !== undefined,
  );
  const own = createToolbox(clientTools.map(createClientTool));
  return {
    ...toolbox,
    names: [...toolbox.names, ...own.names],
    find: (name) => toolbox.find(name) ?? own.find(name),
    describe: () => [...toolbox.describe(), ...own.describe()],
    summarize: (...about) => toolbox.summarize(...about) ?? own.summarize(...about),
  };
}

/** Throws `invalid_command` if the agent has a tool of the same name: a call could mean either of them. */
export function assertNoSameName(names: readonly string[], isTaken: (name: string) => boolean): void {
  const taken = names.find(isTaken);
  if (taken !== undefined)
    throw new LoomError(
      "invalid_command",
      `The agent already has a tool with the name ${taken}; rename the client tool`,
      {
        name: taken,
      },
    );
}

function createClientTool({ name, description = "", inputSchema: given = {} }: ClientTool): Tool {
  const { $schema: _, ...rest } = given;
  const inputSchema = { ...rest, type: "object" };
  return defineTool({ name, description, input: readSchema(inputSchema), inputSchema });
}

/** A schema with keywords that cannot be checked here is for the model only; the client checks the arguments itself. */
function readSchema(schema: JsonObject): StandardSchema {
  try {
    return describeInput(schema);
  } catch {
    return describeInput({ type: "object" });
  }
}
