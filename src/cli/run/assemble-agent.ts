/** Creates the agent of `loom run` and `loom chat` from the options of the command. */
import { agent, type Agent } from "../../agents/index.ts";
import { openAgentResources, type ResourceContext } from "../agent-resources.ts";
import type { AssemblyOptions } from "./read-run-options.ts";

/** Disposing stops the MCP servers and closes the knowledge base. */
export interface AssembledAgent extends AsyncDisposable {
  readonly agent: Agent;
  /** Problems of MCP servers. */
  readonly warnings: readonly string[];
}

/** Throws if the model is not available, the workspace is not a folder, or the MCP configuration is invalid. */
export async function assembleAgent(
  options: AssemblyOptions,
  onError: (error: unknown, errorId: string) => void,
  context: ResourceContext,
): Promise<AssembledAgent> {
  const { system, reasoning } = options;
  if (options.agent.kind === "own") {
    const { agent: own } = options.agent;
    return { agent: own, warnings: [], [Symbol.asyncDispose]: async () => undefined };
  }
  const resources = await openAgentResources(options, context);
  const { model, tools, retriever, warnings } = resources;
  return {
    agent: agent({
      ...options.agent,
      model,
      tools,
      reasoning,
      onError,
      ...(system === undefined ? {} : { systemInstructions: system }),
      ...(retriever === undefined ? {} : { retriever }),
    }),
    warnings,
    [Symbol.asyncDispose]: () => resources[Symbol.asyncDispose](),
  };
}
