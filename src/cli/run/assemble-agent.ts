/** Creates the agent of `loom run` and `loom chat` from the options of the command. */
import { agent, type Agent } from "../../agents/index.ts";
import { dropUndefined } from "../../protocol/drop-undefined.ts";
import { openAgentResources, type ResourceContext } from "../agent-resources.ts";
import type { AssemblyOptions } from "./read-run-options.ts";

/** Disposing closes the agent, stops the MCP servers and closes the knowledge base. */
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
    return { agent: own, warnings: [], [Symbol.asyncDispose]: () => own.close() };
  }
  const resources = await openAgentResources(options, context);
  const { model, tools, retriever, warnings } = resources;
  const created = agent({
    ...options.agent,
    model,
    tools,
    reasoning,
    onError,
    ...dropUndefined({ systemInstructions: system, retriever }),
  });
  return {
    agent: created,
    warnings,
    async [Symbol.asyncDispose]() {
      await created.close();
      await resources[Symbol.asyncDispose]();
    },
  };
}
